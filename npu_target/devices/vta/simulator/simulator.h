// The simulated device: values and cycles from one stream of commands.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/memory.h"
#include "sim/simulator.h"
#include "vta/simulator/buffers.h"
#include "vta/simulator/command.h"
#include "vta/simulator/config.h"
#include "vta/simulator/races.h"
#include "vta/simulator/timing.h"
#include "vta/simulator/tokens.h"

namespace npu::vta {

// The host writes commands into memory; FINISH makes it launch them and wait. At first no buffer
// holds anything. Every command passes the functional part before the timing part sees it.
class Simulator final : public sim::SimulatorOf<Simulator> {
 public:
  Simulator(const Config& config, const sim::MemoryMap& dram, sim::RunOptions options = {});

  void issue(const sim::Command& command, uint32_t host_cycles) final;

  // Throws SimError deadlock where commands are left without a FINISH behind them, too.
  uint64_t finish() final;
  sim::Stats stats() const final;

  // "uop" (uint32), "inp", "wgt" (int8), "acc" (int32) and "out" (int8).
  std::vector<sim::DeviceMemory> memories() final;

  // Makes all rows defined.
  void continue_stream() final;

  const Buffers& buffers() const { return buffers_; }
  const Stats& device_stats() const { return timing_.stats(); }

 private:
  void launch();

  // Whether it can be said which rows commands touch, of a command that comes next: their micro-ops
  // do. Where no values are computed DRAM may be missing, and with it the micro-ops from then on.
  bool knows_rows(const IssuedCommand& issued);

  const Config config_;
  const sim::MemoryMap& dram_;
  Buffers buffers_;
  RaceChecker races_;
  TokenOrder order_;
  Timing timing_;
  std::vector<IssuedCommand> pending_;  // not launched yet
  bool knows_rows_ = true;
  int64_t commands_ = 0;
  int64_t cycles_ = 0;
};

}  // namespace npu::vta
