#include "gemmini/simulator/timing/dram_bursts.h"

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
  bursts_.fill({kLongAgo, false});
}

Ticks DramBursts::take_between(Ticks ready, bool is_write) {
  // Behind those that go out before it can, the first in any case: what was before that is
  // forgotten.
  const unsigned first = end_ - kBursts;
  unsigned position = end_;
  while (position != first + 1 && burst(position - 1).command > ready) --position;
  Latest latest = {kLongAgo, kLongAgo};
  for (unsigned i = position; i-- != first && burst(i).command + longest_ > ready;) {
    Ticks& kind = latest[burst(i).is_write];
    kind = std::max(kind, burst(i).command);
  }
  Ticks command = std::max(ready, behind(latest, is_write));
  for (; position != end_ && burst(position).command <= command; ++position) {
    latest[burst(position).is_write] = burst(position).command;
    command = std::max(command, behind(latest, is_write));
  }
  for (unsigned i = end_; i != position; --i) burst(i) = burst(i - 1);
  ++end_;
  burst(position) = {command, is_write};
  latest[is_write] = command;
  for (unsigned i = position + 1; i != end_; ++i) {
    Burst& later = burst(i);
    later.command = std::max(later.command, behind(latest, later.is_write));
    latest[later.is_write] = later.command;
  }
  for (const bool kind : {false, true}) latest_[kind] = std::max(latest_[kind], latest[kind]);
  return command;
}

}  // namespace npu::gemmini::timing
