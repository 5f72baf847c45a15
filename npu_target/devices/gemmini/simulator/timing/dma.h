// The two stream engines between the system bus and the scratchpad.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/in_flight.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/l2.h"
#include "gemmini/simulator/timing/power_of_two.h"
#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {

// One bus request: an aligned power of two of bytes that covers the next piece of a row.
struct Packet {
  uint64_t address;       // aligned to `size_bytes`
  int64_t size_bytes;     // what the bus carries
  int64_t skipped_bytes;  // of it, those before the piece
  int64_t useful_bytes;   // of it, those of the piece
};

// The packet for a piece of `bytes` at `address`: of the sizes from one beat to the largest
// request, the smallest that covers most (DMA.scala, read_packet and write_packet).
struct PacketSizes {
  int64_t least_bytes;
  int64_t most_bytes;
};
Packet choose_small_packet(const PacketSizes& sizes, uint64_t address, int64_t bytes);
NPU_INLINE Packet choose_packet(const PacketSizes& sizes, uint64_t address, int64_t bytes) {
  if (bytes >= sizes.most_bytes && (address & static_cast<uint64_t>(sizes.most_bytes - 1)) == 0) {
    return {address, sizes.most_bytes, 0, sizes.most_bytes};
  }
  // A row that fits into one beat.
  if (bytes <= sizes.least_bytes && (address & static_cast<uint64_t>(sizes.least_bytes - 1)) == 0) {
    return {address, sizes.least_bytes, 0, bytes};
  }
  return choose_small_packet(sizes, address, bytes);
}

// Reads rows from memory and hands them to the scratchpad's write port.
//
// Policy (DMA.scala StreamReader, XactTracker.scala, BeatMerger.scala): a row is cut into packets,
// one request leaves per cycle while fewer than `dma_requests_in_flight` are under way. Data come
// back one beat per cycle, of each request when the L2 has them: one may overtake others. The beat
// merger works on one request at a time, takes a beat and gives a scratchpad row per cycle, and
// starts on the next request when the last row of this one leaves.
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

  // Requests a row that reaches the engine in cycle `earliest`. Calls `write(first, last, start,
  // end)` for the SRAM rows `first` to `last` (counted from the row's first), which are written
  // in cycles [start, end). Returns the cycle in which the row's last request left.
  template <typename Write>
  NPU_INLINE Cycle read(const Row& row, Cycle earliest, Write&& write);

  // The packet of `row` when it, and rows any number of `stride_bytes` behind it, each fit into one
  // packet of such a size, from its start on, and leave the merger a beat after the other.
  std::optional<Packet> packet_of_each(const Row& row, uint64_t stride_bytes) const;
  // The same as to read() such rows, which reach the engine one a cycle: the first of them, then
  // others, `count` in all, while requests leave before `until`. Calls `write(start, end)` for
  // each; `packet` becomes the next row's. Returns how many have been read.
  template <typename Write>
  NPU_INLINE int64_t read_each(Packet& packet, uint64_t stride_bytes, int64_t count, Cycle earliest,
                               Cycle until, Write&& write);
  // When the latest request left.
  Cycle last_sent() const { return last_sent_; }

 private:
  // A row leaves the merger the cycle after each beat.
  bool leaves_with_beats(const Row& row) const {
    return row.bytes_per_sram_row == bus_bytes_.value() && row.writes_per_sram_row == 1 &&
           !row.is_scaled;
  }
  // Times of one packet: data from `first_beat` on.
  struct Arrival {
    Cycle sent;
    Cycle first_beat;
    int64_t beats;
  };
  NPU_INLINE Arrival request(const Packet& packet, Cycle earliest);
  // When the merger turns to the next packet: when the last row has left and all beats are in; it
  // loses a cycle when the last row leaves together with the last beat's arrival.
  Cycle turns_to_next(const Arrival& arrival) const {
    const Cycle all_beats = arrival.first_beat + arrival.beats;
    return merged_.row_out == all_beats - 1 ? all_beats + 1 : std::max(all_beats, merged_.row_out);
  }

  // How much of a row has been requested.
  struct Progress {
    int64_t done_bytes = 0;
    int64_t block = 0;  // the SRAM row of the next byte
    int64_t block_end_bytes;
  };
  // Takes the packet's SRAM rows out of the beat merger.
  template <typename Write>
  NPU_RARE void merge(const Row& row, const Packet& packet, Cycle first_beat, Progress& progress,
                      Write&& write);

  L2& l2_;
  const PowerOfTwo bus_bytes_;
  const PacketSizes packet_sizes_;
  const int64_t scaled_row_cycles_;
  InFlight in_flight_;
  Cycle last_sent_ = -1;
  // What the merger did last; before it, others may have been overtaken.
  struct Merged {
    Cycle first_beat = -1;
    Cycle row_out = -1;
    Cycle write_port_free = 0;
  };
  Merged merged_;
  Cycle merger_free_ = 0;
};

// Writes rows to memory.
//
// Policy (DMA.scala StreamWriter): takes one block per cycle; with the last block of a row it
// sends the row, a beat per cycle, and takes the next block in the cycle of the last beat. At
// most `dma_requests_in_flight` packets wait for their acknowledgement. A packet that does not
// fill its size costs the whole size on the bus. Between the writer and the cache there is room for
// kL2WriteBeatsAhead beats: what is behind them waits until they get into the cache.
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
  // When a packet of so many beats finds room.
  Cycle room(int64_t beats) const {
    const auto packets = static_cast<unsigned>(std::max<int64_t>(1, kL2WriteBeatsAhead / beats));
    return entered_[(next_packet_ - packets) % kL2WriteBeatsAhead] - kL2DoorStages;
  }

  L2& l2_;
  const PowerOfTwo bus_bytes_;
  const PacketSizes packet_sizes_;
  InFlight in_flight_;
  Cycle ready_ = 0;
  Ticks bus_free_ = 0;
  // When the last packets left the cache's door, a ring.
  std::array<Cycle, kL2WriteBeatsAhead> entered_;
  unsigned next_packet_ = 0;
  Cycle last_acknowledged_ = kLongAgo;
};

DmaReader::Arrival DmaReader::request(const Packet& packet, Cycle earliest) {
  const Cycle sent = std::max({earliest, last_sent_ + 1, in_flight_.earliest()});
  last_sent_ = sent;
  const int64_t beats = bus_bytes_.divide(packet.size_bytes);
  const Cycle first_beat = l2_.read(packet.address, packet.size_bytes, sent, merger_free_);
  in_flight_.push_in_any_order(first_beat + beats - 1);
  return {sent, first_beat, beats};
}

template <typename Write>
Cycle DmaReader::read(const Row& row, Cycle earliest, Write&& write) {
  Progress progress;
  progress.block_end_bytes = row.bytes_per_sram_row;
  Cycle sent = earliest;
  // Most rows: packets of whole SRAM rows, each the size of a beat.
  const bool leaves_with_beats = this->leaves_with_beats(row);
  while (progress.done_bytes < row.bytes) {
    const Packet packet =
        choose_packet(packet_sizes_, row.address + static_cast<uint64_t>(progress.done_bytes),
                      row.bytes - progress.done_bytes);
    const Arrival arrival = request(packet, earliest);
    sent = arrival.sent;
    // One that overtakes others finds the merger as if they did not exist, and leaves it so.
    const Merged latest = merged_;
    const bool overtakes = arrival.first_beat < latest.first_beat;
    if (rarely(overtakes)) merged_ = {};
    merged_.first_beat = arrival.first_beat;
    const Cycle start = arrival.first_beat + 1 + kLoadWriteStages;
    if (leaves_with_beats && packet.skipped_bytes == 0 && merged_.write_port_free <= start &&
        progress.block_end_bytes == progress.done_bytes + row.bytes_per_sram_row) {
      const int64_t rows = bus_bytes_.divide_up(packet.useful_bytes);
      merged_.row_out = arrival.first_beat + rows;
      merged_.write_port_free = start + rows;
      write(progress.block, progress.block + rows - 1, start, start + rows);
      progress.block += rows;
      progress.block_end_bytes += rows * row.bytes_per_sram_row;
      progress.done_bytes += packet.useful_bytes;
    } else {
      merge(row, packet, arrival.first_beat, progress, write);
    }
    if (rarely(overtakes)) {
      merged_ = latest;
    } else {
      merger_free_ = turns_to_next(arrival);
    }
  }
  return sent;
}

template <typename Write>
int64_t DmaReader::read_each(Packet& packet, uint64_t stride_bytes, int64_t count, Cycle earliest,
                             Cycle until, Write&& write) {
  const Cycle rows = bus_bytes_.divide_up(packet.useful_bytes);
  int64_t i = 0;
  do {
    const Arrival arrival = request(packet, earliest + i);
    packet.address += stride_bytes;
    Cycle start = arrival.first_beat + 1 + kLoadWriteStages;
    if (rarely(arrival.first_beat < merged_.first_beat)) {
      write(start, start + rows);
      continue;
    }
    // The merger is through with the packet before; its rows may still wait for the write port.
    start = std::max(start, merged_.write_port_free);
    merged_ = {arrival.first_beat, start - kLoadWriteStages + rows - 1, start + rows};
    write(start, start + rows);
    merger_free_ = turns_to_next(arrival);
  } while (++i < count && last_sent_ < until);
  return i;
}

template <typename Write>
void DmaReader::merge(const Row& row, const Packet& packet, Cycle first_beat, Progress& progress,
                      Write&& write) {
  const Cycle interval = row.is_scaled ? scaled_row_cycles_ : 1;
  const Cycle write_stages = kLoadWriteStages + (row.is_scaled ? kLoadScaleStages : 0);
  const int64_t end = progress.done_bytes + packet.useful_bytes;
  for (int64_t row_start = progress.done_bytes; row_start < end;) {
    // A row leaves when it is whole, or when nothing more will come; a row that continues one
    // of the packet before counts as whole only with a whole row's bytes of its own.
    const int64_t whole = std::min(row_start + row.bytes_per_sram_row, end);
    const int64_t received = whole - progress.done_bytes + packet.skipped_bytes;
    const Cycle complete = first_beat + bus_bytes_.divide_up(received);
    merged_.row_out = std::max(
        {complete, merged_.row_out + 1, merged_.write_port_free - write_stages + interval - 1});
    const Cycle start = std::max(merged_.row_out + write_stages, merged_.write_port_free);
    merged_.write_port_free = start + row.writes_per_sram_row;
    write(progress.block, progress.block, start, merged_.write_port_free);
    row_start = progress.block_end_bytes;
    if (row_start > end) break;
    ++progress.block;
    progress.block_end_bytes += row.bytes_per_sram_row;
  }
  progress.done_bytes = end;
}

}  // namespace npu::gemmini::timing
