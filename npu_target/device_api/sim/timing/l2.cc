#include "l2.h"

#include <algorithm>

namespace npu::sim::timing {

L2::L2(const Config& config)
    : ways_(config.l2_ways),
      sets_(config.l2_bytes / (config.l2_ways * config.l2_line_bytes)),
      line_bytes_(config.l2_line_bytes),
      hit_latency_(config.l2_hit_latency_cycles),
      memory_latency_(config.memory_latency_cycles),
      line_ticks_(ceil_div(config.l2_line_bytes * 1000 * kTicksPerCycle,
                           config.memory_bytes_per_kilocycle)),
      lines_(static_cast<size_t>(ways_ * sets_)) {}

Cycle L2::read(uint64_t address, int64_t bytes, Cycle at) {
  const uint64_t line_bytes = static_cast<uint64_t>(line_bytes_);
  const uint64_t last = (address + static_cast<uint64_t>(bytes) - 1) / line_bytes;
  Cycle ready = at;
  for (uint64_t number = address / line_bytes; number <= last; ++number) {
    ready = std::max(ready, touch(number, true, at).ready);
  }
  return ready + hit_latency_;
}

Cycle L2::write(uint64_t address, int64_t bytes, bool is_partial, Cycle at) {
  const uint64_t line_bytes = static_cast<uint64_t>(line_bytes_);
  const uint64_t last = (address + static_cast<uint64_t>(bytes) - 1) / line_bytes;
  Cycle ready = at;
  for (uint64_t number = address / line_bytes; number <= last; ++number) {
    Line& line = touch(number, is_partial || bytes < line_bytes_, at);
    line.is_dirty = true;
    ready = std::max(ready, line.ready);
  }
  return ready + hit_latency_;
}

void L2::invalidate() {
  std::fill(lines_.begin(), lines_.end(), Line{});
  lfsr_ = 1;
}

L2::Line& L2::touch(uint64_t number, bool needs_data, Cycle at) {
  // Every lookup clocks the LFSR (taps 16, 14, 13, 11).
  const uint32_t feedback = (lfsr_ ^ (lfsr_ >> 2) ^ (lfsr_ >> 3) ^ (lfsr_ >> 5)) & 1;
  lfsr_ = (lfsr_ >> 1) | (feedback << 15);
  Line* set = &lines_[static_cast<size_t>(number % static_cast<uint64_t>(sets_)) *
                      static_cast<size_t>(ways_)];
  for (int64_t way = 0; way < ways_; ++way) {
    if (set[way].number == number) {
      ++hits_;
      return set[way];
    }
  }
  ++misses_;
  return replace(number, needs_data, at);
}

L2::Line& L2::replace(uint64_t number, bool needs_data, Cycle at) {
  const uint64_t set = number % static_cast<uint64_t>(sets_);
  const uint64_t way = (static_cast<uint64_t>(lfsr_) * static_cast<uint64_t>(ways_)) >> 16;
  Line& line = lines_[static_cast<size_t>(set * static_cast<uint64_t>(ways_) + way)];
  Cycle ready = at;
  if (line.number != kNoLine && line.is_dirty) ready = transfer(write_channel_free_, at);
  if (needs_data) {
    ready = std::max(ready, transfer(read_channel_free_, at + memory_latency_));
  }
  line = {number, ready, false};
  return line;
}

Cycle L2::transfer(Ticks& channel_free, Cycle earliest) const {
  channel_free = std::max(channel_free, to_ticks(earliest)) + line_ticks_;
  return to_cycle(channel_free);
}

}  // namespace npu::sim::timing
