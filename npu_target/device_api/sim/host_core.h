// The core that runs a program's loops: what its instructions cost.
#pragma once

#include <cstdint>

#include "sim/host_config.h"
#include "sim/instruction_cache.h"
#include "sim/program_code.h"

namespace npu::sim {

// What the host did so far.
struct HostWork {
  uint64_t instructions = 0;
  uint64_t once_cycles = 0;  // in code that is in no loop, waiting for its lines included
};

// Policy (RocketCore.scala): in order, an instruction at a time; lines that are missing are waited
// for; the branch that ends a loop is predicted to go on.
class HostCore {
 public:
  explicit HostCore(const HostConfig& config)
      : cache_(config), exit_cycles_(static_cast<uint64_t>(config.host_branch_miss_cycles)) {}

  void begin(const ProgramCode& code) { cache_.hold(code.lines); }

  // The cycles of what the host does at this point of the program.
  uint64_t run(const Instruction& instruction) {
    if (instruction.seen_in_version == cache_.version()) return instruction.host_cycles;
    return instruction.host_cycles + fetch(instruction);
  }
  // The same where it does not issue a command, which is where its work is counted.
  uint64_t run_and_count(const Instruction& instruction) {
    work_.instructions += instruction.host_instructions;
    work_.once_cycles += instruction.once_cycles;
    return run(instruction);
  }
  // Those of leaving a loop, whose end this is.
  uint64_t leave(const Instruction& iterate) const {
    return iterate.host_cycles != 0 ? exit_cycles_ : 0;
  }

  const HostWork& work() const { return work_; }

 private:
  uint64_t fetch(const Instruction& instruction) {
    uint64_t cycles = 0;
    for (uint32_t line = instruction.first_line; line < instruction.line_end; ++line) {
      if (!cache_.has(line)) cycles += cache_.fetch(line);
    }
    instruction.seen_in_version = cache_.version();
    if (!instruction.is_in_loop) work_.once_cycles += cycles;
    return cycles;
  }

  InstructionCache cache_;
  const uint64_t exit_cycles_;
  HostWork work_;
};

}  // namespace npu::sim
