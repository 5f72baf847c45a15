#include "sim/simulator.h"

namespace npu::sim {

void Simulator::record(Recording) {
  throw SimError(ErrorKind::kUnsupportedCommand, -1,
                 "profile: needs a kind of device that records what it does");
}

void fail_limit(int64_t commands, uint64_t max_cycles, uint64_t cycles) {
  throw LimitError(commands, "after " + std::to_string(commands) + " commands: needs at most " +
                                 std::to_string(max_cycles) + " cycles, has " +
                                 std::to_string(cycles));
}

}  // namespace npu::sim
