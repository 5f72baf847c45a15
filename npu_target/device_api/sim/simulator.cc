#include "sim/simulator.h"

namespace npu::sim {

void Simulator::record(Recording recording) {
  if (recording.slices == nullptr) return;
  throw SimError(ErrorKind::kUnsupportedCommand, -1,
                 "timeline: needs a kind of device whose simulator records what it does when");
}

void fail_limit(int64_t commands, uint64_t max_cycles, uint64_t cycles) {
  throw LimitError(commands, "after " + std::to_string(commands) + " commands: needs at most " +
                                 std::to_string(max_cycles) + " cycles, has " +
                                 std::to_string(cycles));
}

}  // namespace npu::sim
