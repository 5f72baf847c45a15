// What Python reads as JSON.
#pragma once

#include <string>

#include "sim/simulator.h"

namespace npu {

std::string json_string(const std::string& text);

// An object.
std::string json_numbers(const sim::NamedNumbers& numbers);

// The members of an object, without its braces: those that every device has, and "named".
std::string json_stats(const sim::Stats& stats);

}  // namespace npu
