// The simulated device: values and cycles from one command stream.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config.h"
#include "functional.h"
#include "host_core.h"
#include "loops/registers.h"
#include "memory.h"
#include "program.h"
#include "races/race_checker.h"
#include "timing/timing.h"

namespace npu::sim {

struct Limits {
  uint64_t max_cycles = 0;  // 0: none
};

// One launch: caches cold, nothing configured, both memories undefined. Every command passes the
// functional part, which checks it, before the timing part sees it. Loop commands are expanded to
// simple ones for the functional part.
class Simulator {
 public:
  // `poll` is called now and then, so that a caller can stop a long launch by throwing.
  Simulator(const Config& config, const MemoryMap& dram, Limits limits,
            std::function<void()> poll = nullptr);

  // Runs the next command; `host_cycles` is what the host core spends before issuing it.
  // Throws SimError.
  void run(const Command& command, uint32_t host_cycles);

  // Runs all commands of a program. `addresses` is one per argument.
  void run(const Program& program, const std::vector<uint64_t>& addresses);

  // Waits for everything under way, as a fence does. Returns the cycles since the start. What runs
  // after that finds caches and memories as they are.
  uint64_t finish();

  // Makes the array hold weights of zero, in no time: for a stream that goes on with those that are
  // there. To be called first.
  void clear_array();
  // Tells `recorder`, which has to outlive this object, of what follows; to be called first.
  void record(timing::Recorder* recorder) { timing_.record(recorder); }

  // Refuses what follows where its result depends on an order that the hardware does not keep; to
  // be called first.
  void check_races();

  State& state() { return functional_.state(); }
  // What was done, as far as the last finish().
  timing::Stats stats() const { return timing_.stats(); }
  // What the host did for the programs that ran.
  const HostWork& host_work() const { return host_.work(); }

 private:
  void run_loop_command(const Command& command);
  void count_work();
  void check_limit(uint64_t cycles) const;

  const Config config_;
  const Limits limits_;
  const std::function<void()> poll_;
  Functional functional_;
  loops::LoopRegisters loops_;
  Timing timing_;
  HostCore host_;
  std::optional<races::RaceChecker> races_;
  int64_t commands_ = 0;
  int64_t simple_commands_ = 0;  // those of the loops included
};

}  // namespace npu::sim
