#include "gemmini/simulator/timing/dram.h"

#include <algorithm>

namespace npu::gemmini::timing {
namespace {

// No device is so slow; and sums of so many do not overflow.
constexpr double kMostTicks = 1e12;

}  // namespace

Dram::Dram(const Config& config)
    : lines_per_row_(static_cast<uint64_t>(
          std::max<int64_t>(1, config.dram_row_bytes / config.l2_line_bytes))),
      bank_count_(static_cast<uint64_t>(std::max<int64_t>(1, config.dram_banks))),
      write_lines_ahead_(static_cast<uint64_t>(config.dram_write_lines_ahead)),
      row_accesses_(config.dram_row_accesses),
      read_latency_(clocks(config, config.dram_read_latency_clocks + config.dram_burst_clocks)),
      write_latency_(clocks(config, config.dram_write_latency_clocks + config.dram_burst_clocks)),
      burst_(clocks(config, config.dram_burst_clocks)),
      activate_(clocks(config, config.dram_activate_clocks)),
      precharge_(clocks(config, config.dram_precharge_clocks)),
      row_open_(clocks(config, config.dram_row_open_clocks)),
      row_idle_(clocks(config, config.dram_row_idle_clocks)),
      read_to_precharge_(clocks(config, config.dram_read_to_precharge_clocks)),
      write_to_precharge_(write_latency_ + clocks(config, config.dram_write_recovery_clocks)),
      wake_(clocks(config, config.dram_wake_clocks)),
      refresh_period_(clocks(config, config.dram_refresh_period_clocks)),
      refresh_(clocks(config, config.dram_refresh_clocks)),
      banks_(static_cast<size_t>(config.dram_banks)),
      next_refresh_(refresh_period_) {}

Ticks Dram::clocks(const Config& config, int64_t count) {
  const double ticks = static_cast<double>(count) * static_cast<double>(config.clock_khz) *
                       kTicksPerCycle / static_cast<double>(config.dram_clock_khz);
  return static_cast<Ticks>(std::min(ticks, kMostTicks) + 0.5);
}

Ticks Dram::read(uint64_t line, Ticks at) {
  return burst(line, at, read_to_precharge_) + read_latency_;
}

Ticks Dram::write(uint64_t line, Ticks at) {
  return burst(line + write_lines_ahead_, at, write_to_precharge_) + write_latency_;
}

Ticks Dram::burst(uint64_t line, Ticks at, Ticks open_for) {
  if (at >= next_refresh_) refresh(at);
  Bank& bank = banks_[bank_count_.remainder(line)];
  const uint64_t row = lines_per_row_.divide(bank_count_.divide(line));
  unsigned i = open(bank, row, at);
  Opening& opening = bank.opening(i);
  --opening.accesses_left;
  const Ticks command = std::max(opening.next_burst, at);
  opening.next_burst = command + burst_;
  opening.may_close = std::max(opening.may_close, command + open_for);
  awake_until_ = std::max(awake_until_, opening.may_close + row_idle_ + precharge_);
  // What was to come after it comes later.
  for (; i + 1 < bank.count; ++i) {
    Opening& next = bank.opening(i + 1);
    const Ticks late = bank.opening(i).may_close + precharge_ - next.activated;
    if (late <= 0) break;
    next.activated += late;
    next.next_burst += late;
    next.may_close += late;
  }
  return command;
}

unsigned Dram::open(Bank& bank, uint64_t row, Ticks at) const {
  for (unsigned i = bank.count; i-- > 0;) {
    const Opening& opening = bank.opening(i);
    if (opening.row == row && opening.accesses_left > 0 && at <= opening.may_close + row_idle_ &&
        opening.next_burst <= opening.may_close) {
      return i;
    }
  }
  return add_opening(bank, row, at);
}

unsigned Dram::add_opening(Bank& bank, uint64_t row, Ticks at) const {
  if (bank.count == kOpenings) {
    ++bank.first;
    --bank.count;
  }
  unsigned i = bank.count++;
  for (; i > 0; --i) {
    const Opening& before = bank.opening(i - 1);
    if (before.asked <= at || before.activated <= at) break;
    bank.opening(i) = before;
  }
  Ticks activated = std::max(at + (at > awake_until_ ? wake_ : 0), bank.refreshed);
  if (i > 0) activated = std::max(activated, bank.opening(i - 1).may_close + precharge_);
  bank.opening(i) = {row,       row_accesses_,         at,
                     activated, activated + activate_, activated + row_open_};
  return i;
}

void Dram::refresh(Ticks until) {
  // Of those that nobody has waited for, the last is enough.
  next_refresh_ += (until - next_refresh_) / refresh_period_ * refresh_period_;
  Ticks closed = next_refresh_;
  for (Bank& bank : banks_) {
    if (bank.count != 0) {
      closed = std::max(closed, bank.opening(bank.count - 1).may_close + precharge_);
    }
  }
  for (Bank& bank : banks_) {
    bank.count = 0;
    bank.refreshed = closed + refresh_;
  }
  next_refresh_ += refresh_period_;
}

}  // namespace npu::gemmini::timing
