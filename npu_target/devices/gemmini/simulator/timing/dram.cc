#include "gemmini/simulator/timing/dram.h"

#include <algorithm>

#include "gemmini/simulator/timing/dram_clocks.h"

namespace npu::gemmini::timing {
Dram::Dram(const Config& config)
    : lines_per_row_(static_cast<uint64_t>(
          std::max<int64_t>(1, config.dram_row_bytes / config.l2_line_bytes))),
      bank_count_(static_cast<uint64_t>(std::max<int64_t>(1, config.dram_banks))),
      write_lines_ahead_(static_cast<uint64_t>(config.dram_write_lines_ahead)),
      row_accesses_(config.dram_row_accesses),
      read_latency_(
          dram_clocks(config, config.dram_read_latency_clocks + config.dram_burst_clocks)),
      write_latency_(
          dram_clocks(config, config.dram_write_latency_clocks + config.dram_burst_clocks)),
      burst_(dram_clocks(config, config.dram_burst_clocks)),
      activate_(dram_clocks(config, config.dram_activate_clocks)),
      precharge_(dram_clocks(config, config.dram_precharge_clocks)),
      row_open_(dram_clocks(config, config.dram_row_open_clocks)),
      row_idle_(dram_clocks(config, config.dram_row_idle_clocks)),
      read_to_precharge_(dram_clocks(config, config.dram_read_to_precharge_clocks)),
      write_to_precharge_(write_latency_ + dram_clocks(config, config.dram_write_recovery_clocks)),
      wake_(dram_clocks(config, config.dram_wake_clocks)),
      refresh_period_(dram_clocks(config, config.dram_refresh_period_clocks)),
      refresh_(dram_clocks(config, config.dram_refresh_clocks)),
      bursts_(config),
      banks_(static_cast<size_t>(config.dram_banks)),
      next_refresh_(refresh_period_) {}

Ticks Dram::burst(uint64_t line, Ticks at, bool is_write) {
  if (rarely(at >= next_refresh_)) refresh(at);
  Bank& bank = banks_[bank_count_.remainder(line)];
  const uint64_t row = lines_per_row_.divide(bank_count_.divide(line));
  Opening& latest = bank.opening(0);
  if (serves(latest, row, at)) return burst_to(latest, at, is_write);
  if (at <= latest.may_close + row_idle_) return burst_to_other(bank, row, at, is_write);
  // It has closed by itself, so that all have, and nothing is to come after the new one.
  --bank.first;
  return burst_to(open(bank, 0, row, at), at, is_write);
}

Ticks Dram::burst_to_other(Bank& bank, uint64_t row, Ticks at, bool is_write) {
  unsigned i = 1;
  while (i != kOpenings && !serves(bank.opening(i), row, at)) ++i;
  if (i == kOpenings) i = add_opening(bank, row, at);
  const Ticks command = burst_to(bank.opening(i), at, is_write);
  // What was to come after it comes later.
  for (; i > 0; --i) {
    Opening& next = bank.opening(i - 1);
    const Ticks late = bank.opening(i).may_close + precharge_ - next.activated;
    if (late <= 0) break;
    next.activated += late;
    next.next_burst += late;
    next.may_close += late;
  }
  return command;
}

Ticks Dram::burst_to(Opening& opening, Ticks at, bool is_write) {
  --opening.accesses_left;
  const Ticks command = bursts_.take(std::max(opening.next_burst, at), is_write);
  const Ticks open_for = is_write ? write_to_precharge_ : read_to_precharge_;
  opening.next_burst = command + burst_;
  opening.may_close = std::max(opening.may_close, command + open_for);
  last_close_ = std::max(last_close_, opening.may_close);
  return command;
}

unsigned Dram::add_opening(Bank& bank, uint64_t row, Ticks at) const {
  // Before those that were asked for later and have not begun.
  unsigned i = 0;
  while (i + 1 != kOpenings && bank.opening(i).asked > at && bank.opening(i).activated > at) ++i;
  --bank.first;
  for (unsigned later = 0; later != i; ++later) bank.opening(later) = bank.opening(later + 1);
  open(bank, i, row, at);
  return i;
}

Dram::Opening& Dram::open(Bank& bank, unsigned i, uint64_t row, Ticks at) const {
  const bool is_awake = at <= last_close_ + row_idle_ + precharge_;
  Ticks activated = std::max(at + (is_awake ? 0 : wake_), bank.refreshed);
  if (i + 1 != kOpenings) {
    activated = std::max(activated, bank.opening(i + 1).may_close + precharge_);
  }
  Opening& opening = bank.opening(i);
  opening = {row, row_accesses_, at, activated, activated + activate_, activated + row_open_};
  return opening;
}

void Dram::refresh(Ticks until) {
  // Of those that nobody has waited for, the last is enough.
  next_refresh_ += (until - next_refresh_) / refresh_period_ * refresh_period_;
  Ticks closed = next_refresh_;
  for (const Bank& bank : banks_) {
    closed = std::max(closed, bank.opening(0).may_close + precharge_);
  }
  for (Bank& bank : banks_) {
    bank.openings.fill({});
    bank.refreshed = closed + refresh_;
  }
  next_refresh_ += refresh_period_;
}

Ticks Dram::read(uint64_t line, Ticks at) {
  while (first_waiting_ != write_count_ && writes_[first_waiting_ % kWrites].at <= at) write_next();
  return burst(line, at, false) + read_latency_;
}

uint64_t Dram::write(uint64_t line, Ticks at) {
  writes_[write_count_ % kWrites] = {line + write_lines_ahead_, at};
  return write_count_++;
}

void Dram::write_next() {
  Write& write = writes_[first_waiting_++ % kWrites];
  write.at = burst(write.line, write.at, true) + write_latency_;
}

Ticks Dram::written(uint64_t number) {
  while (first_waiting_ <= number) write_next();
  return writes_[number % kWrites].at;
}

}  // namespace npu::gemmini::timing
