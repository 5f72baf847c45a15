// How races are reported.
#pragma once

#include <cstdint>
#include <string>

#include "gemmini/simulator/command.h"

namespace npu::gemmini::races {

struct Named {
  Command command;
  int64_t index;  // in the stream
};

// For instance "command 17 mvin(...)".
std::string text(const Named& named);

// Throw SimError race, naming both.
[[noreturn]] void fail(const Named& now, const Named& before, const std::string& why);
[[noreturn]] void fail(const Named& now, const std::string& before, const std::string& why);

}  // namespace npu::gemmini::races
