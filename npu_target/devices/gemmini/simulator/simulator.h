// The simulated device: values and cycles from one command stream.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/functional.h"
#include "gemmini/simulator/loops/registers.h"
#include "gemmini/simulator/races/race_checker.h"
#include "gemmini/simulator/recording.h"
#include "gemmini/simulator/stats.h"
#include "gemmini/simulator/timing/timing.h"
#include "sim/memory.h"
#include "sim/simulator.h"

namespace npu::gemmini {

// Every command passes the functional part, which checks it, before the timing part sees it. Loop
// commands are expanded to simple ones for the functional part.
class Simulator final : public sim::SimulatorOf<Simulator> {
 public:
  Simulator(const Config& config, const sim::MemoryMap& dram, sim::RunOptions options = {});

  void issue(const Command& command, uint32_t host_cycles) final;
  uint64_t delay_code(uint32_t line, bool is_new, uint64_t since) {
    return timing_.delay_code(line, is_new, since);
  }
  uint64_t finish() final;
  sim::Stats stats() const final { return named_stats(timing_.stats()); }

  // "spad" (int8) and "acc" (int32).
  std::vector<sim::DeviceMemory> memories() final;

  // Makes the array hold weights of zero.
  void continue_stream() final;

  void record(sim::Recording recording) final;
  void begin_recording() final;
  sim::Profile profile() const final;

  State& state() { return functional_.state(); }

 private:
  void run_loop_command(const Command& command);
  void count_work();

  const Config config_;
  Functional functional_;
  loops::LoopRegisters loops_;
  timing::Timing timing_;
  std::optional<races::RaceChecker> races_;
  std::unique_ptr<Recording> recording_;
  int64_t commands_ = 0;
  int64_t simple_commands_ = 0;  // those of the loops included
};

}  // namespace npu::gemmini
