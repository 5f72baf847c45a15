#include "sim/instruction_cache.h"

#include <algorithm>
#include <utility>

namespace npu::sim {

InstructionCache::InstructionCache(const HostConfig& config)
    : ways_(static_cast<uint32_t>(config.host_icache_ways)),
      sets_(static_cast<uint32_t>(std::max<int64_t>(
          1, config.host_icache_bytes / config.host_icache_line_bytes / config.host_icache_ways))) {
}

void InstructionCache::hold(uint32_t lines) {
  if (is_held_.size() == lines) return;
  lines_.assign(size_t{ways_} * std::min(sets_, lines), kEmpty);
  is_held_.assign(lines, 0);
  was_held_.assign(lines, 0);
}

bool InstructionCache::fetch(uint32_t line) {
  // A shift register of 16 bits with the longest period; its lowest bits choose.
  const uint16_t bit = (random_ >> 15 ^ random_ >> 13 ^ random_ >> 12 ^ random_ >> 10) & 1;
  random_ = static_cast<uint16_t>(random_ << 1 | bit);
  uint32_t& place = lines_[size_t{line % sets_} * ways_ + random_ % ways_];
  if (place != kEmpty) is_held_[place] = 0;
  place = line;
  is_held_[line] = 1;
  if (++version_ == 0) version_ = 1;  // 0 is before any
  return std::exchange(was_held_[line], uint8_t{1}) == 0;
}

}  // namespace npu::sim
