// Errors of the simulated device: what a program did wrong, and which command did it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace npu::sim {

enum class ErrorKind {
  kBadProgram,              // a program file, a config or an argument list that is not one
  kAddressOutOfRange,       // DRAM or a memory of the device; also a store into an input
  kUndefinedConfiguration,  // a command that uses what no command before it has set
  kGarbageOperand,          // no address where a value is needed
  kUnsupportedCommand,      // unknown, or beyond what this device was built with
  kTimedOut,                // past the limit on cycles
  kRace,                    // an order that matters and that the hardware does not keep
  kDeadlock,                // commands that wait for each other, or for one that never comes
};

// The name of a kind as it stands in messages, for instance "address_out_of_range".
const char* error_kind_name(ErrorKind kind);

// what() reads "[kind] command 17 mvin(...): needs ..., has ...".
struct SimError : std::runtime_error {
  // `command_index` is -1 where no command is at fault.
  SimError(ErrorKind kind, int64_t command_index, const std::string& message);

  ErrorKind kind;
  int64_t command_index;
};

// timed_out because a run is past the limit that its caller has set; without, it would go on.
struct LimitError : SimError {
  LimitError(int64_t command_index, const std::string& message)
      : SimError(ErrorKind::kTimedOut, command_index, message) {}
};

}  // namespace npu::sim
