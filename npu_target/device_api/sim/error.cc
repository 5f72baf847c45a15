#include "sim/error.h"

namespace npu::sim {

const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kBadProgram:
      return "bad_program";
    case ErrorKind::kAddressOutOfRange:
      return "address_out_of_range";
    case ErrorKind::kUndefinedConfiguration:
      return "undefined_configuration";
    case ErrorKind::kGarbageOperand:
      return "garbage_operand";
    case ErrorKind::kUnsupportedCommand:
      return "unsupported_command";
    case ErrorKind::kTimedOut:
      return "timed_out";
    case ErrorKind::kRace:
      return "race";
    case ErrorKind::kDeadlock:
      return "deadlock";
  }
  return "unknown";
}

SimError::SimError(ErrorKind kind, int64_t command_index, const std::string& message)
    : std::runtime_error("[" + std::string(error_kind_name(kind)) + "] " + message),
      kind(kind),
      command_index(command_index) {}

}  // namespace npu::sim
