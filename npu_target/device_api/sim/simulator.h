// The simulated device: values and cycles from one command stream.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config.h"
#include "functional.h"
#include "memory.h"
#include "program.h"
#include "timing/timing.h"

namespace npu::sim {

struct Limits {
  uint64_t max_cycles = 0;  // 0: none
};

// One launch: caches cold, nothing configured, both memories undefined. Every command passes the
// functional part, which checks it, before the timing part sees it.
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

  // Waits for everything under way, as a fence does. Returns the cycles since the start. To be
  // called once, last.
  uint64_t finish();

  State& state() { return functional_.state(); }
  // What was done, as far as the last finish().
  timing::Stats stats() const { return timing_.stats(); }

 private:
  void check_limit(uint64_t cycles) const;

  const Config config_;
  const Limits limits_;
  const std::function<void()> poll_;
  Functional functional_;
  Timing timing_;
  int64_t commands_ = 0;
};

}  // namespace npu::sim
