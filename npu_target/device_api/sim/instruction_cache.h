// The host core's instruction cache.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/host_config.h"

namespace npu::sim {

// Policy (ICache.scala): sets of ways; a line that is missing replaces one of its set at random, a
// free way or not; nothing is fetched ahead. The program begins at the start of a line.
class InstructionCache {
 public:
  explicit InstructionCache(const HostConfig& config);

  // For a program of so many lines; what a run before left of the same program stays.
  void hold(uint32_t lines);

  bool has(uint32_t line) const { return is_held_[line] != 0; }
  // Fetches a line that is not there. Returns whether it was never there before.
  bool fetch(uint32_t line);
  // Another number after each fetch: what was there at the same one still is.
  uint32_t version() const { return version_; }

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;
  const uint32_t ways_;
  const uint32_t sets_;
  std::vector<uint32_t> lines_;    // by set and way
  std::vector<uint8_t> is_held_;   // by line
  std::vector<uint8_t> was_held_;  // by line
  uint16_t random_ = 1;
  uint32_t version_ = 1;
};

}  // namespace npu::sim
