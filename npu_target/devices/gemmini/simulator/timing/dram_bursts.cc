#include "gemmini/simulator/timing/dram_bursts.h"

#include <utility>

#include "gemmini/simulator/timing/dram_clocks.h"

namespace npu::gemmini::timing {

DramBursts::DramBursts(const Config& config)
    : same_(dram_clocks(config, config.dram_burst_clocks)),
      write_to_read_(dram_clocks(config, config.dram_write_latency_clocks +
                                             config.dram_burst_clocks +
                                             config.dram_write_to_read_clocks)),
      read_to_write_(dram_clocks(
          config, std::max<int64_t>(1, config.dram_read_latency_clocks + config.dram_burst_clocks +
                                           config.dram_read_to_write_clocks -
                                           config.dram_write_latency_clocks))),
      longest_(std::max({same_, write_to_read_, read_to_write_})) {
  commands_.fill(kLongAgo);
}

unsigned DramBursts::place_of(Ticks ready) {
  const unsigned second = end_ - kBursts + 1;
  unsigned position = end_;
  while (position != second && command(position - 1) > ready) --position;
  return position;
}

Ticks DramBursts::read_between_reads(Ticks ready) {
  if (ready >= full_from_) return read_behind();
  unsigned position = place_of(ready);
  Ticks at = std::max(ready, command(position - 1) + same_);
  for (; position != end_ && command(position) <= at; ++position) {
    at = std::max(at, command(position) + same_);
  }
  Ticks next = at;
  for (; position != end_; ++position) {
    const Ticks later = std::exchange(command(position), next);
    next = std::max(later, next + same_);
  }
  add(next, false);
  latest_[false] = next;
  return at;
}

Ticks DramBursts::take_between(Ticks ready, bool is_a_write) {
  if (!is_a_write && latest_[true] + write_to_read_ <= ready) return read_between_reads(ready);
  const unsigned first = end_ - kBursts;
  unsigned position = place_of(ready);
  Latest latest = {kLongAgo, kLongAgo};
  for (unsigned i = position; i-- != first && command(i) + longest_ > ready;) {
    Ticks& kind = latest[is_write(i)];
    kind = std::max(kind, command(i));
  }
  Ticks at = std::max(ready, behind(latest, is_a_write));
  for (; position != end_ && command(position) <= at; ++position) {
    latest[is_write(position)] = command(position);
    at = std::max(at, behind(latest, is_a_write));
  }
  for (unsigned i = end_++; i != position; --i) {
    command(i) = command(i - 1);
    is_write(i) = is_write(i - 1);
  }
  command(position) = at;
  is_write(position) = is_a_write;
  latest[is_a_write] = at;
  for (unsigned i = position + 1; i != end_; ++i) {
    command(i) = std::max(command(i), behind(latest, is_write(i)));
    latest[is_write(i)] = command(i);
  }
  for (const bool kind : {false, true}) latest_[kind] = std::max(latest_[kind], latest[kind]);
  full_from_ = command(end_ - 1);
  return at;
}

}  // namespace npu::gemmini::timing
