#include "gemmini/simulator/timing/memory_bus.h"

#include <algorithm>

#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {

MemoryBus::MemoryBus(const Config& config)
    : latency_(config.memory_latency_cycles),
      line_cycles_(ceil_div(config.l2_line_bytes * 1000, config.memory_bytes_per_kilocycle)),
      write_cycles_(line_cycles_ + config.memory_write_pause_cycles),
      has_dram_(config.dram_banks > 0),
      dram_(config) {
  write_starts_.fill(kLongAgo);
}

Cycle MemoryBus::between_writes(Cycle turn) const {
  if (turn >= to_memory_free_) return turn;
  for (unsigned i = 0; i < kWritesKnown; ++i) {
    const Cycle start = write_starts_[(oldest_write_ + i) % kWritesKnown];
    if (turn >= start && turn < start + line_cycles_) turn = start + line_cycles_;
  }
  return turn;
}

Cycle MemoryBus::data_from(uint64_t line, Cycle at) {
  const Cycle asked = between_writes(at + kL2AskStages) - kL2AskStages + latency_;
  return has_dram_ ? to_cycle(dram_.read(line, to_ticks(asked))) : asked;
}

MemoryBus::WriteBack MemoryBus::write(uint64_t line, Cycle at) {
  ++lines_written_;
  const Cycle start = std::max(at + kL2WriteBackStages, to_memory_free_);
  write_starts_[oldest_write_++ % kWritesKnown] = start;
  to_memory_free_ = start + write_cycles_;
  writable_ = std::max(writable_, to_memory_free_ - kL2WriteBackQueueCycles);
  const Cycle sent = start + line_cycles_;
  if (!has_dram_) return {sent + kL2AcknowledgeStages, 0};
  const Ticks come = to_ticks(sent);
  return {to_cycle(dram_.written_from(come)) + kL2AcknowledgeStages, dram_.write(line, come)};
}

Cycle MemoryBus::acknowledged(const WriteBack& write) {
  if (!has_dram_) return write.acknowledged_from;
  return to_cycle(dram_.written(write.number)) + kL2AcknowledgeStages;
}

}  // namespace npu::gemmini::timing
