// Commands in words, for messages.
#pragma once

#include <string>

#include "gemmini/simulator/command.h"

namespace npu::gemmini {

// For instance "mvin(0x80010000 -> spad 0x20, 16 rows x 64 cols)".
std::string describe(const Command& command);

// For instance "spad 0x20", "acc 0x10 (accumulate)", "garbage".
std::string describe(const LocalOperand& operand);

}  // namespace npu::gemmini
