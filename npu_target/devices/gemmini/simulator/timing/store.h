// The store controller: MVOUTs from the scratchpad and the accumulator to memory.
#pragma once

#include <vector>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/dma.h"
#include "gemmini/simulator/timing/in_flight.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/ports.h"
#include "gemmini/simulator/timing/power_of_two.h"
#include "gemmini/simulator/timing/reservation_station.h"

namespace npu::gemmini::timing {

// Policy (StoreController.scala, Scratchpad.scala, AccumulatorScale.scala): commands in order, at
// most two begun and not complete. A command hands over one block of a row per cycle; with
// pooling, one block per element of the window. A block is read from its SRAM when nobody of
// higher priority uses the port, goes through the scaler (`acc_scale_latency_cycles`, fully
// pipelined) when it comes from the accumulator, and waits for the DMA writer; no more than
// `store_write_queue_entries` blocks are between the scaler's input and the writer. The command
// completes when its last block is read, whatever the memory does after that.
//
// A step runs some blocks of the command at the front: as many as begin within kStoreStepCycles, so
// that it does not look further ahead than the other units have written down what they use.
class StoreUnit {
 public:
  StoreUnit(const Config& config, ReservationStation& station, L2& l2,
            const PortCalendar& spad_writes, const PortCalendar& spad_reads,
            const PortCalendar& acc_reads);

  // When the next blocks can be handed over, kNever if nothing is to be done yet.
  Cycle next_step() const;
  NPU_RARE void step(Cycle now);

  // When the latest acknowledgement from memory is back.
  Cycle last_acknowledged() const { return writer_.last_acknowledged(); }
  int64_t bytes_stored() const { return bytes_stored_; }

 private:
  // Where one block comes from and where its row goes.
  struct Block {
    bool is_read;   // false: outside of the image, nothing to read
    bool ends_row;  // the writer sends after this one
    int64_t sram_row;
    uint64_t dram_address;  // of the row
    int64_t row_bytes;
  };

  void begin(Cycle now);
  // The next block of the command under way.
  Block next_block();
  Block next_pooled_block();
  Cycle read(const Block& block, Cycle earliest) const;

  const PowerOfTwo dim_;
  const PowerOfTwo spad_bank_rows_;
  const PowerOfTwo acc_bank_rows_;
  const Cycle acc_scale_latency_;
  ReservationStation& station_;
  const PortCalendar& spad_writes_;
  const PortCalendar& spad_reads_;
  const PortCalendar& acc_reads_;
  DmaWriter writer_;
  InFlight in_flight_;

  // The command under way.
  ReservationStation::Id id_ = ReservationStation::kNone;
  StoreOperation store_{};
  int64_t blocks_per_row_ = 0;
  int64_t rows_left_ = 0;  // rows of output that are not finished
  int64_t row_ = 0;        // row, or with pooling row and column of pixels, of the output
  int64_t col_ = 0;
  int64_t block_ = 0;  // block of the row, or row and column of the window
  int64_t window_col_ = 0;

  Cycle begun_ = 0;                // the command under way
  Cycle first_accepted_ = kNever;  // by the writer, of its blocks
  Cycle next_dispatch_ = 0;
  Cycle last_read_ = -1;
  Cycle last_entered_ = -1;
  InFlight write_queue_;  // when blocks left it for the writer
  InFlight acc_ahead_;    // when blocks entered the scaler
  InFlight spad_ahead_;
  int64_t bytes_stored_ = 0;
};

}  // namespace npu::gemmini::timing
