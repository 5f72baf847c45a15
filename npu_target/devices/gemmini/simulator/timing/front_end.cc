#include "gemmini/simulator/timing/front_end.h"

#include <algorithm>

namespace npu::gemmini::timing {

FrontEnd::FrontEnd(const Config& config) : queue_(config.host_queue_commands) {}

Cycle FrontEnd::fence(Cycle last_pending) {
  const Cycle last = std::max(last_pending, last_left_);
  host_time_ = std::max(host_time_ + kIdleFenceCycles, last + kFenceReturnCycles);
  return host_time_;
}

}  // namespace npu::gemmini::timing
