// The device's values: what every command does to the memories.
#pragma once

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/execute.h"
#include "gemmini/simulator/state.h"
#include "sim/memory.h"

namespace npu::gemmini {

class Functional {
 public:
  // Both `config` and `dram` must outlive this object.
  Functional(const Config& config, const sim::MemoryMap& dram);

  // Runs one simple command. Throws SimError naming it when the device could not, or when what it
  // would do is not defined; the state is then of no further use. `index` is for messages, and so
  // is `loop`, the loop command that expanded to this one, if one did.
  void run(const Command& command, int64_t index, const Command* loop = nullptr);

  State& state() { return state_; }
  const State& state() const { return state_; }

 private:
  const Config& config_;
  const sim::MemoryMap& dram_;
  State state_;
  Array array_;
};

}  // namespace npu::gemmini
