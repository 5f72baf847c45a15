// More code for fewer instructions, where the host has too much to do for a command.
//
// What pays by itself is done in any case (parts.h): that is enough where the host is ahead of the
// device. Where it is not, loops are changed one after the other, those first of which most is run:
// cut where a condition in them is decided, iterations written out, or left as they are. What that
// gains is asked of the model by which the simulator charges its host.
#pragma once

#include <functional>

#include "rewrite/nodes.h"
#include "rewrite/parts.h"
#include "sim/host_demand.h"

namespace npu::rewrite {

// The host of a device.
struct HostModel {
  std::function<sim::HostDemand(const Body*)> demand;  // what a body asks of it
  double fetch_cycles;  // that a byte of its code takes to come from memory
};

// `parts` rewritten, which are `found`; where the code of unrolled loops is not worth it, without;
// and so that they take fewer instructions, where a command has too many of them.
const Body* within_budget(const Body* found, Parts& parts, const HostModel& host);

}  // namespace npu::rewrite
