// Programs as the file has them.
#pragma once

#include <string>

#include "sim/program.h"

namespace npu::sim {

// A program's expressions and its body, which are the end of the file's payload.
std::string code_bytes(const Program& program);

}  // namespace npu::sim
