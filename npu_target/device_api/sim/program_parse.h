// The inside of a program file, after its magic and checksum.
#pragma once

#include <string_view>

#include "sim/program.h"

namespace npu::sim {

// Parses and validates; see Program::parse for what is refused.
Program parse_payload(std::string_view payload);

}  // namespace npu::sim
