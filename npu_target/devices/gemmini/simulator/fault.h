// The command being run, and the way its executor reports that it cannot be.
#pragma once

#include <string>

#include "gemmini/simulator/command.h"
#include "gemmini/simulator/describe.h"
#include "sim/error.h"

namespace npu::gemmini {

using sim::ErrorKind;
using sim::SimError;

struct RunningCommand {
  const Command& command;
  int64_t index;
  const Command* loop = nullptr;  // the loop command it is a part of, if it is one

  // Throws SimError naming the command. `needs` reads "needs ..., has ...".
  [[noreturn]] void fail(ErrorKind kind, const std::string& needs) const {
    const std::string whole = loop == nullptr ? "" : describe(*loop) + ", in it ";
    throw SimError(
        kind, index,
        "command " + std::to_string(index) + " " + whole + describe(command) + ": " + needs);
  }
};

}  // namespace npu::gemmini
