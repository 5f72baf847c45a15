// The load controller: MVINs from the reservation station to the scratchpad.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/dma.h"
#include "gemmini/simulator/timing/in_flight.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/ports.h"
#include "gemmini/simulator/timing/power_of_two.h"
#include "gemmini/simulator/timing/reservation_station.h"

namespace npu::gemmini::timing {

// Policy (LoadController.scala, DMACommandTracker.scala, ZeroWriter.scala): commands in order, at
// most `loads_in_flight` begun and not complete, which complete in any order. A command hands over
// one row per cycle; a stride of 0 reads one row and writes it many times; DRAM address 0 reads
// nothing and writes a block of zeros per cycle, behind the data of older loads (Scratchpad.scala:
// `zerowrite` gives way to rows that end their request). It completes the cycle after its last byte
// is in SRAM.
//
// A step runs some rows of the command at the front: those whose requests leave within
// kLoadStepCycles, so that the L2 hears of them in about the order in which it does of stores. Data
// for the scratchpad take the port of the bank they go to, whatever else wants it. Those for the
// accumulator give way to the array's results for the same bank, and whatever comes behind them
// waits as well (Scratchpad.scala: `exwrite` before `dmawrite`); steps of their own write them, for
// results are known not long before.
class LoadUnit {
 public:
  // `spad_writes` gets the cycles in which scratchpad banks are written, `acc_reads` those in
  // which accumulating data take the read port of an accumulator bank. `acc_writes` has those in
  // which results of the array are written.
  LoadUnit(const Config& config, ReservationStation& station, L2& l2, PortCalendar& spad_writes,
           PortCalendar& acc_reads, const PortCalendar& acc_writes);

  // When the next rows can be asked for, kNever if nothing is to be done yet.
  Cycle next_step() const;
  NPU_RARE void step(Cycle now);

  int64_t bytes_loaded() const { return bytes_loaded_; }

 private:
  Cycle run_zeros(const LoadOperation& load, Cycle start);
  // The command under way, which reads memory.
  void begin_reads(const LoadOperation& load);
  // Reads its rows whose requests leave before `until`, at least one.
  void run_reads(const LoadOperation& load, Cycle until);
  void run_rows_alike(const LoadOperation& load, Cycle until);
  void end(Cycle last_write);
  // Whether its data may have to wait for a port, or behind such that do.
  bool is_written_late(const LoadOperation& load) const {
    return load.is_acc || !late_.empty() || !late_arrivals_.empty();
  }
  // When the next of the data that wait may be written, and their step.
  Cycle next_late_write() const;
  void write_late(Cycle now);
  NPU_INLINE void take_ports(const LoadOperation& load, int64_t row, int64_t first_block,
                             int64_t last_block, Cycle start, Cycle end);
  NPU_INLINE static void take(PortCalendar& ports, const PowerOfTwo& bank_rows, int64_t first,
                              int64_t last, Cycle start, Cycle end);

  const PowerOfTwo dim_;
  const PowerOfTwo spad_bank_rows_;
  const PowerOfTwo acc_bank_rows_;
  ReservationStation& station_;
  PortCalendar& spad_writes_;
  PortCalendar& acc_reads_;
  const PortCalendar& acc_writes_;
  DmaReader reader_;
  OpenInFlight in_flight_;

  // The command under way.
  ReservationStation::Id id_ = ReservationStation::kNone;
  Cycle begun_ = 0;
  int64_t rows_ = 0;  // that it reads
  int64_t next_row_ = 0;
  DmaReader::Row row_{};          // the next
  std::optional<Packet> packet_;  // the next row's, if all rows are alike
  Cycle last_sent_ = 0;
  Cycle last_write_ = 0;

  // SRAM rows as they come, a cycle each.
  struct Arrival {
    int64_t row;  // of the load
    int64_t first_block;
    int64_t blocks;
    Cycle from;
    Cycle cycles;
    Cycle written = 0;  // so many of them
  };
  // Loads that wait to be written, the oldest first, and what there is of the command under way.
  struct LateLoad {
    ReservationStation::Id id;
    Cycle begun;
    std::vector<Arrival> arrivals;
    size_t next = 0;
  };
  std::deque<LateLoad> late_;
  std::vector<Arrival> late_arrivals_;
  Cycle late_free_ = 0;  // when the next may be written, of what is known

  Cycle controller_free_ = 0;
  Cycle zero_writer_free_ = 0;
  int64_t bytes_loaded_ = 0;
};

}  // namespace npu::gemmini::timing
