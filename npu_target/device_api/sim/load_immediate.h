// Constants, as RISC-V makes them.
#pragma once

#include <cstdint>

namespace npu::sim {

// Whether one addition adds it: 12 bits with a sign.
inline bool fits_addition(uint64_t value) { return value + 2048 < 4096; }

// Whether a shift multiplies by it.
inline bool is_power_of_two(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

// Instructions of the sequence by which the assembler puts a constant into a register (`li`): 1 to
// 8, none for 0, which a register always holds.
int load_immediate_instructions(uint64_t value);

}  // namespace npu::sim
