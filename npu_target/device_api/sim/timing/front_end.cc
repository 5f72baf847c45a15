#include "front_end.h"

#include <algorithm>

#include "stages.h"

namespace npu::sim::timing {

FrontEnd::FrontEnd(const Config& config) : queue_(config.host_queue_commands) {}

Cycle FrontEnd::issue(uint32_t host_cycles) {
  const Cycle wanted = host_time_ + static_cast<Cycle>(host_cycles);
  // Room at the far end takes as long to reach the host as commands take the other way.
  host_time_ = std::max(wanted, queue_.earliest());
  stall_cycles_ += host_time_ - wanted;
  return std::max(host_time_ + kFrontEndStages, last_left_ + 1);
}

void FrontEnd::leave(Cycle when) {
  last_left_ = when;
  queue_.push(when + kFrontEndStages - 1);
}

Cycle FrontEnd::fence(Cycle last_pending) {
  const Cycle last = std::max(last_pending, last_left_);
  host_time_ = std::max(host_time_ + kIdleFenceCycles, last + kFenceReturnCycles);
  return host_time_;
}

}  // namespace npu::sim::timing
