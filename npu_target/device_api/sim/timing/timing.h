// Cycles of a command stream, with no two commands at the same time.
#pragma once

#include <cstdint>

#include "../command.h"
#include "../config.h"

namespace npu::sim {

// Every command takes the cycles of the unit that runs it, one after the other: an upper bound.
class Timing {
 public:
  explicit Timing(const Config& config) : config_(config) {}

  void issue(const Command& command, uint32_t host_cycles);
  uint64_t finish() { return cycles_; }

 private:
  const Config config_;
  uint64_t cycles_ = 0;
};

}  // namespace npu::sim
