// What a program asks of the host core that runs it, counted without a device.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/host_core.h"
#include "sim/program.h"
#include "sim/program_code.h"
#include "sim/program_run.h"

namespace npu::sim {

struct HostDemand {
  uint64_t instructions = 0;
  uint64_t commands = 0;
  uint64_t loop_bytes = 0;  // of code
  uint64_t once_bytes = 0;  // of code that is in no loop
};

// Counts as a run would, in less time: iterations that do what the one before did are not gone
// through.
class HostDemandCounter {
 public:
  // Tensors may lie anywhere: no count depends on that.
  HostDemandCounter(const Program& program, const RunControl& control);

  // To be called once. Throws LimitError where a run would, beyond the control's steps.
  HostDemand count();
  // Of the code that is in no loop, with a cold cache, when it was counted.
  uint64_t once_cycles() const { return host_.work().once_cycles; }

 private:
  void run(uint32_t from, uint32_t to);
  void run_loop(uint32_t entry);
  void find_what_varies();
  void count_steps(uint64_t each, uint64_t times);

  const Program& program_;
  const RunControl& control_;
  ProgramCode code_;
  HostCore host_;
  std::vector<bool> varies_;  // by loop: its variable decides how often loops inside of it go round
  std::vector<int64_t> variables_;
  std::vector<int64_t> scratch_;
  uint64_t commands_ = 0;
  uint64_t steps_ = 0;
  uint64_t since_poll_ = 0;
};

}  // namespace npu::sim
