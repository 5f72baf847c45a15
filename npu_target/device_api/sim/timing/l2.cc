#include "l2.h"

#include <algorithm>

namespace npu::sim::timing {

L2::L2(const Config& config)
    : ways_(static_cast<uint64_t>(config.l2_ways)),
      sets_(static_cast<uint64_t>(config.l2_bytes / (config.l2_ways * config.l2_line_bytes))),
      line_bytes_("l2_line_bytes", config.l2_line_bytes),
      hit_latency_(config.l2_hit_latency_cycles),
      memory_latency_(config.memory_latency_cycles),
      line_ticks_(ceil_div(config.l2_line_bytes * 1000 * kTicksPerCycle,
                           config.memory_bytes_per_kilocycle)),
      numbers_(ways_ * sets_, kNoLine),
      ready_(ways_ * sets_, 0),
      is_dirty_(ways_ * sets_, 0) {}

Cycle L2::write(uint64_t address, int64_t bytes, bool is_partial, Cycle at) {
  const uint64_t last = line_bytes_.divide(address + static_cast<uint64_t>(bytes) - 1);
  const bool needs_data = is_partial || bytes < line_bytes_.value();
  Cycle ready = at;
  for (uint64_t number = line_bytes_.divide(address); number <= last; ++number) {
    const size_t place = touch(number, needs_data, at);
    is_dirty_[place] = 1;
    ready = std::max(ready, ready_[place]);
  }
  return ready + hit_latency_;
}

void L2::invalidate() {
  std::fill(numbers_.begin(), numbers_.end(), kNoLine);
  lfsr_ = 1;
}

size_t L2::replace(uint64_t first_place, uint64_t number, bool needs_data, Cycle at) {
  ++misses_;
  const uint64_t place = first_place + ((lfsr_ * ways_) >> 16);
  Cycle ready = at;
  if (numbers_[place] != kNoLine && is_dirty_[place] != 0) {
    ready = transfer(write_channel_free_, at);
  }
  if (needs_data) {
    ready = std::max(ready, transfer(read_channel_free_, at + memory_latency_));
  }
  numbers_[place] = number;
  ready_[place] = ready;
  is_dirty_[place] = 0;
  return place;
}

Cycle L2::transfer(Ticks& channel_free, Cycle earliest) const {
  channel_free = std::max(channel_free, to_ticks(earliest)) + line_ticks_;
  return to_cycle(channel_free);
}

}  // namespace npu::sim::timing
