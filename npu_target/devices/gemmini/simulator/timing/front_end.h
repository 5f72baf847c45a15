// The way of commands from the host core to the reservation station.
#pragma once

#include <algorithm>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/in_flight.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {

// Policy (RocketCore.scala, LazyRoCC.scala, Controller.scala): the host spends its own cycles on a
// command, then hands it over; there is room for `host_queue_commands` between the host and the
// reservation station, through which commands move one stage per cycle, in order. A command that
// finds its partition full holds up everything behind it, at last the host.
class FrontEnd {
 public:
  explicit FrontEnd(const Config& config);

  // The host spends `host_cycles` and hands over a command. Returns the first cycle in which the
  // command may enter the reservation station.
  NPU_INLINE Cycle issue(uint32_t host_cycles) {
    const Cycle wanted = host_time_ + static_cast<Cycle>(host_cycles);
    // Room at the far end takes as long to reach the host as commands take the other way.
    host_time_ = std::max(wanted, queue_.earliest());
    stall_cycles_ += host_time_ - wanted;
    return std::max(host_time_ + kFrontEndStages, last_left_ + 1);
  }
  // The command entered (or ended, if it needs no entry) in cycle `when`.
  NPU_INLINE void leave(Cycle when) {
    last_left_ = when;
    queue_.push(when + kFrontEndStages - 1);
  }

  // The host waits until everything it issued is done; `last_pending` is the last cycle in which
  // something is not. Returns the cycle in which it goes on.
  Cycle fence(Cycle last_pending);

  Cycle host_time() const { return host_time_; }
  // When the latest command left.
  Cycle last_left() const { return last_left_; }
  // Cycles the host waited for room.
  Cycle stall_cycles() const { return stall_cycles_; }

 private:
  InFlight queue_;
  Cycle host_time_ = 0;
  Cycle last_left_ = kLongAgo;
  Cycle stall_cycles_ = 0;
};

}  // namespace npu::gemmini::timing
