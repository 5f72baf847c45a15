#include "timing.h"

namespace npu::sim {

void Timing::issue(const Command& command, uint32_t host_cycles) {
  cycles_ += host_cycles;
  const LocalOperand local(command.rs2);
  if (is_mvin(command.funct) || command.funct == kMvout) {
    const uint64_t beats =
        static_cast<uint64_t>((local.cols + config_.bus_bytes - 1) / config_.bus_bytes);
    cycles_ +=
        static_cast<uint64_t>(config_.l2_hit_latency_cycles + config_.memory_latency_cycles) +
        static_cast<uint64_t>(local.rows) * beats;
  } else if (is_compute(command.funct)) {
    cycles_ += static_cast<uint64_t>(3 * config_.dim);
  }
}

}  // namespace npu::sim
