// The two stream engines between the system bus and the scratchpad.
#pragma once

#include <algorithm>
#include <vector>

#include "config.h"
#include "cycle.h"
#include "l2.h"
#include "stages.h"

namespace npu::sim::timing {

// One bus request: an aligned power of two of bytes that covers the next piece of a row.
struct Packet {
  uint64_t address;       // aligned to `size_bytes`
  int64_t size_bytes;     // what the bus carries
  int64_t skipped_bytes;  // of it, those before the piece
  int64_t useful_bytes;   // of it, those of the piece
};

// The packet for a piece of `bytes` at `address`: of the sizes from one beat to the largest
// request, the smallest that covers most (DMA.scala, read_packet and write_packet).
Packet choose_packet(const Config& config, uint64_t address, int64_t bytes);

// Times at which the last `size` requests were done: request i may start once i - size is done.
class InFlight {
 public:
  explicit InFlight(int64_t size) : done_(static_cast<size_t>(size), -1) {}
  // The first cycle the next request may start in.
  Cycle earliest() const { return done_[next_] + 1; }
  void push(Cycle done) {
    done_[next_] = done;
    next_ = next_ + 1 == done_.size() ? 0 : next_ + 1;
  }

 private:
  std::vector<Cycle> done_;
  size_t next_ = 0;
};

// Reads rows from memory and hands them to the scratchpad's write port.
//
// Policy (DMA.scala StreamReader, XactTracker.scala, BeatMerger.scala): a row is cut into packets,
// one request leaves per cycle while fewer than `dma_requests_in_flight` are under way. Data come
// back one beat per cycle, in the order of the requests (a hit does not overtake a miss here;
// in hardware it may). The beat merger works on one request at a time, takes a beat and gives a
// scratchpad row per cycle, and starts on the next request when the last row of this one leaves.
// A scaled row keeps the multipliers busy for dim / mvin_scale_units cycles, a repeated row the
// write port for as many cycles as it is written.
class DmaReader {
 public:
  DmaReader(const Config& config, L2& l2);

  struct Row {
    uint64_t address;
    int64_t bytes;
    int64_t bytes_per_sram_row;
    int64_t writes_per_sram_row;  // row and pixel repeats
    bool is_scaled;
  };

  // Requests a row that reaches the engine in cycle `earliest`. Calls
  // `write(block, start, end)` for each SRAM row (counted from the row's first) with the cycles
  // its writes take. Returns the cycle in which the row's last request left.
  template <typename Write>
  Cycle read(const Row& row, Cycle earliest, Write&& write);

 private:
  // Times of one packet: data from `first_beat` on.
  struct Arrival {
    Cycle sent;
    Cycle first_beat;
    int64_t beats;
  };
  Arrival request(const Packet& packet, Cycle earliest);

  const Config& config_;
  L2& l2_;
  const int64_t scaled_row_cycles_;
  InFlight in_flight_;
  Cycle last_sent_ = -1;
  Ticks bus_free_ = 0;
  Cycle merger_free_ = 0;
  Cycle last_row_out_ = -1;
  Cycle write_port_free_ = 0;
};

// Writes rows to memory.
//
// Policy (DMA.scala StreamWriter): takes one block per cycle; with the last block of a row it
// sends the row, a beat per cycle, and takes the next block in the cycle of the last beat. At
// most `dma_requests_in_flight` packets wait for their acknowledgement. A packet that does not
// fill its size costs the whole size on the bus.
class DmaWriter {
 public:
  DmaWriter(const Config& config, L2& l2);

  // The first cycle in which it takes another block.
  Cycle ready() const { return ready_; }
  // It takes a block in cycle `when`.
  void accept(Cycle when) { ready_ = when + 1; }
  // Then sends the row's `bytes` to `address`.
  void send(uint64_t address, int64_t bytes, Cycle accepted);
  // When the latest acknowledgement is back.
  Cycle last_acknowledged() const { return last_acknowledged_; }

 private:
  const Config& config_;
  L2& l2_;
  InFlight in_flight_;
  Cycle ready_ = 0;
  Ticks bus_free_ = 0;
  Cycle last_acknowledged_ = -1;
};

template <typename Write>
Cycle DmaReader::read(const Row& row, Cycle earliest, Write&& write) {
  const Cycle interval = row.is_scaled ? scaled_row_cycles_ : 1;
  const Cycle write_stages = kLoadWriteStages + (row.is_scaled ? kLoadScaleStages : 0);
  int64_t done = 0;
  Cycle sent = earliest;
  while (done < row.bytes) {
    const Packet packet =
        choose_packet(config_, row.address + static_cast<uint64_t>(done), row.bytes - done);
    const Arrival arrival = request(packet, earliest);
    sent = arrival.sent;
    // SRAM rows of this packet: those that its last byte completes or reaches into.
    const int64_t end = done + packet.useful_bytes;
    for (int64_t block = done / row.bytes_per_sram_row; block * row.bytes_per_sram_row < end;
         ++block) {
      const int64_t needed =
          std::min((block + 1) * row.bytes_per_sram_row, end) - done + packet.skipped_bytes;
      const Cycle complete = arrival.first_beat + ceil_div(needed, config_.bus_bytes);
      last_row_out_ =
          std::max({complete, last_row_out_ + 1, write_port_free_ - write_stages + interval - 1});
      const Cycle start = std::max(last_row_out_ + write_stages, write_port_free_);
      write_port_free_ = start + row.writes_per_sram_row;
      write(block, start, write_port_free_);
    }
    merger_free_ = std::max(arrival.first_beat + arrival.beats, last_row_out_);
    done = end;
  }
  return sent;
}

}  // namespace npu::sim::timing
