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
// for; the branch that ends a loop is predicted to go on. A line comes from memory the first time
// and from the L2 later on; where others are under way there, it takes longer.
class HostCore {
 public:
  explicit HostCore(const HostConfig& config)
      : cache_(config),
        memory_cycles_(static_cast<uint64_t>(config.host_icache_miss_cycles)),
        l2_cycles_(static_cast<uint64_t>(config.host_icache_l2_cycles)),
        exit_cycles_(static_cast<uint64_t>(config.host_branch_miss_cycles)) {}

  void begin(const ProgramCode& code) { cache_.hold(code.lines); }

  // The cycles of what the host does at this point of the program, `since` cycles after the last
  // command. For each line that it fetches, `delay(line, is_new, since)` is the cycles that others
  // make it wait longer: the line's number, whether it comes from memory, and when it is asked for.
  template <typename Delay>
  uint64_t run(const Instruction& instruction, uint64_t since, Delay& delay) {
    if (instruction.seen_in_version == cache_.version()) return instruction.host_cycles;
    return instruction.host_cycles + fetch(instruction, since, delay);
  }
  // The same where it does not issue a command, which is where its work is counted.
  template <typename Delay>
  uint64_t run_and_count(const Instruction& instruction, uint64_t since, Delay& delay) {
    work_.instructions += instruction.host_instructions;
    work_.once_cycles += instruction.once_cycles;
    return run(instruction, since, delay);
  }
  // Those of leaving a loop, whose end this is.
  uint64_t leave(const Instruction& iterate) const {
    return iterate.host_cycles != 0 ? exit_cycles_ : 0;
  }

  const HostWork& work() const { return work_; }
  // Counts what was done since `before` so many times more.
  void repeat(const HostWork& before, uint64_t times) {
    work_.instructions += times * (work_.instructions - before.instructions);
    work_.once_cycles += times * (work_.once_cycles - before.once_cycles);
  }

 private:
  template <typename Delay>
  uint64_t fetch(const Instruction& instruction, uint64_t since, Delay& delay) {
    uint64_t cycles = 0;
    for (uint32_t line = instruction.first_line; line < instruction.line_end; ++line) {
      if (cache_.has(line)) continue;
      const bool is_new = cache_.fetch(line);
      const uint64_t alone = is_new ? memory_cycles_ : l2_cycles_;
      // Code that costs nothing comes from a memory of the host's own.
      if (alone != 0) cycles += alone + delay(line, is_new, since + cycles);
    }
    instruction.seen_in_version = cache_.version();
    if (!instruction.is_in_loop) work_.once_cycles += cycles;
    return cycles;
  }

  InstructionCache cache_;
  const uint64_t memory_cycles_;
  const uint64_t l2_cycles_;
  const uint64_t exit_cycles_;
  HostWork work_;
};

}  // namespace npu::sim
