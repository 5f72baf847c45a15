// The halves of the memories: a loop has one of each, the loop after it the other.
#pragma once

#include <cstdint>

#include "gemmini/simulator/fault.h"

namespace npu::gemmini::loops {

// a * b, or a number beyond any memory where that is smaller. Neither is negative.
int64_t bounded_product(int64_t a, int64_t b);

// The half (0 or 1) of the scratchpad that an id names; the loop's own for 0.
int64_t half_of(const RunningCommand& running, const char* operand, uint64_t id, int64_t slot);

// Throws SimError address_out_of_range unless `rows` of `what` fit into half of `memory`.
void check_half(const RunningCommand& running, const char* what, int64_t rows, const char* memory,
                int64_t half_rows);

struct HalfOperand {
  const char* name;
  int64_t rows;
  int64_t half;  // 0 or 1
};

// The same for two operands, which share a half or have one each.
void check_operands(const RunningCommand& running, const HalfOperand& a, const HalfOperand& b,
                    int64_t half_rows);

// Throws SimError undefined_configuration: `funct` has not been issued for this loop.
[[noreturn]] void fail_undefined(const RunningCommand& running, const char* loop, int funct);

}  // namespace npu::gemmini::loops
