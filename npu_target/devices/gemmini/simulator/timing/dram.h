// The DRAM behind the memory bus: banks, rows, and what the commands to them wait for.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/dram_bursts.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/power_of_two.h"

namespace npu::gemmini::timing {

// One rank of banks. Lines lie in the banks in turns, `dram_row_bytes` of each bank in a row.
//
// Policy (DRAMSim2, open page, as the measured system is set up): a line is read or written by one
// burst, for which its row has to be open. A row stays open until it has had `dram_row_accesses`
// bursts, or nothing has come for it for `dram_row_idle_clocks` after it could have been closed;
// then it closes by itself. A request joins a row that is open, or will be for an earlier request
// that waits; else it opens its own, after what was asked for before it. Rows of different banks do
// not wait for each other, but their bursts do (dram_bursts.h);
// every `dram_refresh_period_clocks` all of them close and refresh. When all rows are closed the
// DRAM powers down; the next request waits `dram_wake_clocks` longer.
//
// Requests are served in the order of the calls. One for an earlier time than those before it goes
// before what has not begun by then, which comes the later for what is asked for afterwards.
class Dram {
 public:
  // Throws nothing; without banks it must not be asked for anything.
  explicit Dram(const Config& config);

  // The line of number `line` (address / line bytes) is asked for at `at`. Returns when all its
  // data are there.
  NPU_RARE Ticks read(uint64_t line, Ticks at);
  // Such a line comes at `at`, not before those written earlier, to be written after what is asked
  // for by then. Returns its number for `written`; at most kWrites may wait for that.
  uint64_t write(uint64_t line, Ticks at);
  // When it has been written: nothing is asked for before that any more.
  NPU_RARE Ticks written(uint64_t number);
  // The earliest for a line that comes at `at`.
  Ticks written_from(Ticks at) const { return at + write_latency_; }

 private:
  // A row that was, is, or will be open; at first none is.
  struct Opening {
    uint64_t row = 0;
    int64_t accesses_left = 0;
    Ticks asked = kLongAgo;  // by the request that opened it
    Ticks activated = kLongAgo;
    Ticks next_burst = kLongAgo;  // when it takes the next command
    Ticks may_close = kLongAgo;
  };
  // Openings of a bank that are remembered: more than the requests under way can need.
  static constexpr unsigned kOpenings = 4;
  struct Bank {
    // The latest is the first.
    Opening& opening(unsigned i) { return openings[(first + i) % kOpenings]; }
    const Opening& opening(unsigned i) const { return openings[(first + i) % kOpenings]; }

    std::array<Opening, kOpenings> openings;  // a ring
    unsigned first = 0;
    Ticks refreshed = 0;
  };

  struct Write {
    uint64_t line;
    Ticks at;  // when it has been written, once that is known
  };
  static constexpr unsigned kWrites = 64;

  // A burst to the line. Returns when its command goes out.
  NPU_INLINE Ticks burst(uint64_t line, Ticks at, bool is_write);
  // One to a row that the latest opening does not serve, which is still open.
  NPU_RARE Ticks burst_to_other(Bank& bank, uint64_t row, Ticks at, bool is_write);
  NPU_INLINE bool serves(const Opening& opening, uint64_t row, Ticks at) const {
    // Without a branch for each: which of them fails could not be foreseen.
    return static_cast<int>(opening.row == row) & static_cast<int>(opening.accesses_left > 0) &
           static_cast<int>(at <= opening.may_close + row_idle_) &
           static_cast<int>(opening.next_burst <= opening.may_close);
  }
  NPU_INLINE Ticks burst_to(Opening& opening, Ticks at, bool is_write);
  // Where in the bank's openings a new one comes to be.
  unsigned add_opening(Bank& bank, uint64_t row, Ticks at) const;
  // Makes one of the bank's the opening of the row, after the one behind it.
  NPU_INLINE Opening& open(Bank& bank, unsigned i, uint64_t row, Ticks at) const;
  // The first write that waits.
  void write_next();
  // Catches up with the refreshes up to `until`.
  NPU_RARE void refresh(Ticks until);

  const Divisor lines_per_row_;
  const Divisor bank_count_;
  const uint64_t write_lines_ahead_;
  const int64_t row_accesses_;
  const Ticks read_latency_;   // command to the last of the data
  const Ticks write_latency_;  // command to the last of the data
  const Ticks burst_;
  const Ticks activate_;
  const Ticks precharge_;
  const Ticks row_open_;
  const Ticks row_idle_;
  const Ticks read_to_precharge_;   // command to command
  const Ticks write_to_precharge_;  // command to command
  const Ticks wake_;
  const Ticks refresh_period_;
  const Ticks refresh_;
  DramBursts bursts_;
  std::vector<Bank> banks_;
  std::array<Write, kWrites> writes_{};
  uint64_t write_count_ = 0;
  uint64_t first_waiting_ = 0;  // of them
  Ticks next_refresh_;
  Ticks last_close_ = kLongAgo;  // of any row that has been opened
};

}  // namespace npu::gemmini::timing
