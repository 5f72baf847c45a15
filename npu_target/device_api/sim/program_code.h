// A program laid out flat for one launch: what running it needs, in the order it is needed.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.h"

namespace npu::sim {

struct Instruction {
  enum class Kind : uint8_t {
    kCommand,
    kLoop,     // begins a loop, or goes on at `target` if that has no iteration
    kIterate,  // ends an iteration: goes back to `target` for the next one, if there is one
    kEnd,
  };
  Kind kind = Kind::kEnd;
  uint8_t funct = 0;
  uint32_t host_cycles = 0;  // of the host core, each time it comes here
  // Lines of code that they are in; when the cache last changed before they were all seen there.
  uint32_t first_line = 0;
  uint32_t line_end = 0;
  mutable uint32_t seen_in_version = 0;
  bool is_in_loop = false;
  // Of what does not issue a command: instructions of the host from the one before on, and their
  // cycles where they are in no loop.
  uint32_t host_instructions = 0;
  uint32_t once_cycles = 0;
  // A command's first value (rs1; rs2 is the next), or which of the loops it is.
  uint32_t index = 0;
  uint32_t target = 0;
  // General terms of a command, in ProgramCode::general.
  uint32_t first_general = 0;
  uint32_t general_end = 0;
};

struct LoopCode {
  uint32_t slot;    // of its variable
  uint32_t extent;  // expression
  // In ProgramCode::steps: what its iterations add to which values.
  uint32_t first_step;
  uint32_t step_end;
};

struct ValueStep {
  uint32_t value;
  uint64_t increment;
};

struct GeneralTerm {
  bool is_rs2;
  uint64_t coefficient;
  uint32_t expr;
};

// Operands are values in memory that loops advance, as the host core's registers are: an operand
// costs nothing at its command, and little where a loop goes on that it steps with.
struct ProgramCode {
  // `addresses` is one per argument. Throws as Program::address_words does.
  ProgramCode(const Program& program, const std::vector<uint64_t>& addresses);

  std::vector<Instruction> instructions;
  std::vector<uint64_t> values;  // before the first iteration of any loop
  std::vector<LoopCode> loops;
  std::vector<ValueStep> steps;
  std::vector<GeneralTerm> general;
  uint32_t lines = 0;       // of the host's code
  uint64_t loop_bytes = 0;  // of them, inside loops
  uint64_t once_bytes = 0;  // and not

 private:
  void add_host_code(const Program& program);
};

}  // namespace npu::sim
