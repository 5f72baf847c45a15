// The cycles of a command stream without its values.
#pragma once

#include <cstdint>
#include <optional>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/races/race_checker.h"
#include "gemmini/simulator/stats.h"
#include "gemmini/simulator/timing/timing.h"
#include "sim/simulator.h"

namespace npu::gemmini {

// The cycle model by itself, several times as fast. It takes commands unchecked.
class CycleSimulator final : public sim::SimulatorOf<CycleSimulator> {
 public:
  CycleSimulator(const Config& config, sim::RunOptions options);

  NPU_INLINE void issue(const Command& command, uint32_t host_cycles) final {
    timing_.issue(command, host_cycles);
    if (timing_.commands() % kCommandsPerCheck == 0) {
      check_limit(timing_.commands(), timing_.elapsed());
    }
  }
  uint64_t delay_code(uint32_t line, bool is_new, uint64_t since) {
    return timing_.delay_code(line, is_new, since);
  }
  uint64_t finish() final;
  sim::Stats stats() const final { return named_stats(timing_.stats()); }

 private:
  static constexpr int64_t kCommandsPerCheck = 1 << 10;
  timing::Timing timing_;
  std::optional<races::RaceChecker> races_;
};

}  // namespace npu::gemmini
