#include "gemmini/simulator/timing/memory_bus.h"

#include <algorithm>

#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {

MemoryBus::MemoryBus(const Config& config)
    : latency_(config.memory_latency_cycles),
      line_cycles_(ceil_div(config.l2_line_bytes * 1000, config.memory_bytes_per_kilocycle)),
      write_cycles_(line_cycles_ + config.memory_write_pause_cycles),
      has_dram_(config.dram_banks > 0),
      dram_(config) {}

Cycle MemoryBus::data_from(uint64_t line, Cycle at) {
  const Cycle asked = at + latency_;
  return has_dram_ ? to_cycle(dram_.read(line, to_ticks(asked))) : asked;
}

Cycle MemoryBus::write(uint64_t line, Cycle at) {
  ++lines_written_;
  const Cycle start = std::max(at + kL2WriteBackStages, to_memory_free_);
  to_memory_free_ = start + write_cycles_;
  writable_ = std::max(writable_, to_memory_free_ - kL2WriteBackQueueCycles);
  const Cycle sent = start + line_cycles_;
  const Cycle written = has_dram_ ? to_cycle(dram_.write(line, to_ticks(sent))) : sent;
  return written + kL2AcknowledgeStages;
}

}  // namespace npu::gemmini::timing
