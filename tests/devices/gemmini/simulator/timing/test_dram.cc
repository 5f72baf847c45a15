#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/dram.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

using timing::Dram;
using timing::Ticks;

// A clock of the DRAM is a cycle here, a row of a bank has four lines.
Config dram_device() {
  Config config = device();
  config.dram_clock_khz = config.clock_khz;
  config.dram_row_bytes = 4 * 64;
  config.dram_write_lines_ahead = 0;
  config.dram_wake_clocks = 0;
  config.dram_refresh_period_clocks = 1'000'000;
  return config;
}
constexpr int64_t kRead = 10 + 10 + 4;  // activate, latency, burst
constexpr int64_t kWrite = 10 + 9 + 4;
constexpr uint64_t kNextInBank = 8;  // of eight banks
constexpr uint64_t kNextRow = 4 * kNextInBank;

int64_t read(Dram& dram, uint64_t line, int64_t at) {
  return timing::to_cycle(dram.read(line, timing::to_ticks(at)));
}
int64_t write(Dram& dram, uint64_t line, int64_t at) {
  return timing::to_cycle(dram.written(dram.write(line, timing::to_ticks(at))));
}

const Test closed("timing/dram: a closed row is activated, then read or written", [] {
  Dram dram(dram_device());
  CHECK_EQUAL(read(dram, 0, 1000), 1000 + kRead);
  Dram other(dram_device());
  CHECK_EQUAL(write(other, 1, 1000), 1000 + kWrite);
});

const Test clocks("timing/dram: clocks are the DRAM's, not the core's", [] {
  Config config = dram_device();
  config.dram_clock_khz = 2 * config.clock_khz;
  Dram dram(config);
  CHECK_EQUAL(read(dram, 0, 1000), 1000 + kRead / 2);
});

const Test open_row("timing/dram: an open row is not activated again, until it may have closed",
                    [] {
                      const auto second = [](int64_t after) {
                        Dram dram(dram_device());
                        read(dram, 0, 1000);
                        return read(dram, kNextInBank, 1000 + after) - 1000 - after;
                      };
                      // Open until 24 clocks after it was activated.
                      CHECK_EQUAL(second(13), 15);  // the burst before
                      CHECK_EQUAL(second(14), 14);
                      CHECK_EQUAL(second(24), 14);
                      // Closed, and 34 is the first clock in which it can be activated.
                      CHECK_EQUAL(second(25), 9 + kRead);
                      CHECK_EQUAL(second(34), kRead);
                    });

const Test idle("timing/dram: a row may stay open while nobody comes for it", [] {
  Config config = dram_device();
  config.dram_row_idle_clocks = 8;
  const auto second = [&](int64_t after) {
    Dram dram(config);
    read(dram, 0, 1000);
    return read(dram, kNextInBank, 1000 + after) - 1000 - after;
  };
  CHECK_EQUAL(second(32), 14);
  // Closed: it was at 24.
  CHECK_EQUAL(second(33), 1 + kRead);
  CHECK_EQUAL(second(34), kRead);
});

const Test bursts("timing/dram: bursts of a row keep apart, and every few it has to close", [] {
  Dram dram(dram_device());
  for (uint64_t i = 0; i < 4; ++i) {
    CHECK_EQUAL(read(dram, 8 * i, 1000), 1000 + kRead + 4 * static_cast<int64_t>(i));
  }
  CHECK_EQUAL(read(dram, 0, 1000), 1000 + kRead + 16);
  // Commands at 10, 14, 18, 22 and 26, closed at 31, activated at 41.
  CHECK_EQUAL(read(dram, 0, 1000), 1000 + 41 + kRead);
  Config config = dram_device();
  config.dram_row_accesses = 6;
  Dram longer(config);
  for (int i = 0; i < 5; ++i) read(longer, 8, 1000);
  CHECK_EQUAL(read(longer, 0, 1000), 1000 + kRead + 20);
});

const Test conflict("timing/dram: another row of the bank waits until the first is closed", [] {
  Dram dram(dram_device());
  read(dram, 0, 1000);
  CHECK_EQUAL(read(dram, kNextRow, 1000), 1000 + 24 + 10 + kRead);
  Dram written(dram_device());
  write(written, 0, 1000);
  // The command at 10, data until 23, recovered at 33.
  CHECK_EQUAL(read(written, kNextRow, 1000), 1000 + 33 + 10 + kRead);
});

const Test rows("timing/dram: any number of rows of a bank are opened one after another", [] {
  Dram dram(dram_device());
  for (uint64_t i = 0; i < 20; ++i) {
    CHECK_EQUAL(read(dram, i * kNextRow, 1000), 1000 + 34 * static_cast<int64_t>(i) + kRead);
  }
  // One that has not begun makes room for what was asked for earlier.
  CHECK_EQUAL(read(dram, 20 * kNextRow, 3000), 3000 + kRead);
  CHECK_EQUAL(read(dram, 21 * kNextRow, 2980), 2980 + kRead);
});

const Test banks("timing/dram: rows of different banks are opened beside each other", [] {
  Dram dram(dram_device());
  for (uint64_t bank = 0; bank < 8; ++bank) {
    // Their bursts are one after another.
    CHECK_EQUAL(read(dram, bank, 1000), 1000 + kRead + 4 * static_cast<int64_t>(bank));
  }
  Config config = dram_device();
  config.dram_banks = 1;
  Dram one(config);
  read(one, 0, 1000);
  CHECK_EQUAL(read(one, 4, 1000), 1000 + 34 + kRead);
});

const Test joins("timing/dram: a request joins its row where an earlier one waits for it", [] {
  Dram dram(dram_device());
  read(dram, 0, 1000);
  read(dram, kNextRow, 1000);
  read(dram, 2 * kNextRow, 1000);
  // The second row is opened at 34, the third at 68.
  CHECK_EQUAL(read(dram, kNextRow + 8, 1000), 1000 + 34 + kRead + 4);
  CHECK_EQUAL(read(dram, 8, 1000), 1000 + kRead + 4);
});

const Test earlier("timing/dram: what is asked for earlier goes before what has not begun", [] {
  Dram dram(dram_device());
  write(dram, 0, 2000);
  CHECK_EQUAL(read(dram, kNextRow, 1990), 1990 + kRead);
  // The write came later for it: activated at 2024, so the next row at 2024 + 43.
  CHECK_EQUAL(read(dram, 2 * kNextRow, 2030), 2024 + 43 + kRead);
  // One for the same time as another goes behind it.
  CHECK_EQUAL(read(dram, 3 * kNextRow, 2030), 2024 + 43 + 34 + kRead);
});

const Test come("timing/dram: a line is written behind what is asked for before it has come", [] {
  const auto second = [](int64_t come, int64_t asked) {
    Dram dram(dram_device());
    dram.write(0, timing::to_ticks(come));
    return read(dram, kNextRow, asked) - asked;
  };
  CHECK_EQUAL(second(2000, 1990), kRead);
  CHECK_EQUAL(second(2000, 1999), kRead);
  // The write's row is closed 43 clocks after it was activated.
  CHECK_EQUAL(second(2000, 2000), 43 + kRead);
  // Unless somebody has waited for it.
  Dram dram(dram_device());
  CHECK_EQUAL(write(dram, 0, 2000), 2000 + kWrite);
  CHECK_EQUAL(read(dram, 1, 1990), 1990 + kRead);
});

const Test many("timing/dram: lines are written in their order, however many wait", [] {
  Dram dram(dram_device());
  uint64_t last = 0;
  for (uint64_t line = 0; line < 64; ++line) last = dram.write(line * kNextRow, 0);
  CHECK_EQUAL(timing::to_cycle(dram.written(last)), 63 * 43 + kWrite);
});

const Test earliest("timing/dram: the earliest that a line can be written", [] {
  Dram dram(dram_device());
  write(dram, 0, 1000);
  // With its row open.
  CHECK_EQUAL(write(dram, kNextInBank, 1020),
              timing::to_cycle(dram.written_from(timing::to_ticks(1020))));
});

const Test ahead("timing/dram: lines are written so many further on", [] {
  Config config = dram_device();
  config.dram_write_lines_ahead = 1;
  Dram dram(config);
  read(dram, 0, 1000);
  CHECK_EQUAL(write(dram, kNextRow, 1000), 1000 + 6 + kWrite);           // in the next bank
  CHECK_EQUAL(write(dram, 2 * kNextRow - 1, 1000), 1000 + 34 + kWrite);  // in the same
});

const Test wakes("timing/dram: with all rows closed the DRAM powers down", [] {
  Config config = dram_device();
  config.dram_wake_clocks = 100;
  const auto second = [&](int64_t after) {
    Dram dram(config);
    read(dram, 0, 1000);
    return read(dram, 1, 1100 + after) - 1100 - after;
  };
  // Activated at 1100, closed at 1124, precharged at 1134.
  CHECK_EQUAL(second(34), kRead);
  CHECK_EQUAL(second(35), 100 + kRead);
});

const Test refresh("timing/dram: a refresh closes all rows and keeps the banks", [] {
  Config config = dram_device();
  config.dram_refresh_period_clocks = 5000;
  const auto at = [&](int64_t first, int64_t then) {
    Dram dram(config);
    read(dram, 0, first);
    return read(dram, 8, then) - then;
  };
  CHECK_EQUAL(at(4980, 4999), 14);           // the row is open
  CHECK_EQUAL(at(4000, 5000), 107 + kRead);  // refreshed from 5000 on
  CHECK_EQUAL(at(4000, 5107), kRead);
  CHECK_EQUAL(at(4990, 5000), 24 + 107 + kRead);  // closed at 5014, precharged at 5024
  // Only the last of many matters.
  CHECK_EQUAL(at(4000, 5'000'000), 107 + kRead);
  CHECK_EQUAL(at(4000, 5'000'107), kRead);
});

}  // namespace
}  // namespace npu::gemmini::testing
