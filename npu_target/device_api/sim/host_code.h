// A program as the host core's machine code: how many instructions each of its parts is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/host_straight.h"
#include "sim/program.h"

namespace npu::sim {

// Of one instruction of ProgramCode: a command, the entry of a loop, or the end of its iterations.
struct HostStep {
  uint64_t first_byte = 0;    // its place in the machine code
  uint32_t instructions = 0;  // of each time it runs, a command's own included
  bool is_in_loop = false;
  bool has_command = false;

  uint64_t bytes() const;
};

// The code that a C compiler makes of the program's loops: `do { body; additions } while (register
// != end)`, operands in registers that additions advance. docs/program.md has the rules.
struct HostCode {
  // Of a whole program, or of a part, for which only its loops' code is made: no call, and no words
  // that are made outside of them.
  enum class Extent : uint8_t { kWhole, kPart };
  explicit HostCode(const Program& program, Extent extent = Extent::kWhole);

  std::vector<HostStep> steps;  // in the order of ProgramCode::instructions
  uint32_t call = 0;            // instructions of the call, before the first step
  uint32_t back = 0;            // and of the return, after the last one
  uint64_t loop_bytes = 0;      // code inside loops
  uint64_t once_bytes = 0;      // all other code
  size_t registers = 0;         // that its loops need at once
  // What is made outside of all scopes, in its order. Its instructions are those of steps, too, but
  // of a part.
  std::vector<StraightUse> straight;
  static constexpr uint64_t kCommandBytes = 4;
  // Of any other instruction, on average: gcc's code for RV64GC, whose short instructions have 2,
  // has 2.94 (2.5 to 3.2 in kernels of the models' layers: tests/program/c/test_riscv.py).
  static constexpr uint64_t kInstructionBytes = 3;
};

inline uint64_t HostStep::bytes() const {
  return instructions * HostCode::kInstructionBytes +
         (has_command ? HostCode::kCommandBytes - HostCode::kInstructionBytes : 0);
}

}  // namespace npu::sim
