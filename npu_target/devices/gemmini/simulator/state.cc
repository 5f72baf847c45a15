#include "gemmini/simulator/state.h"

#include "sim/memory.h"

namespace npu::gemmini {
namespace {

// What the memories hold at power-on is not defined on the device. A value that no one expects
// makes a program that reads what it has not written give wrong results here too.
constexpr int8_t kUnwrittenSpad = 0x5A;
constexpr int32_t kUnwrittenAcc = 0x5A5A5A5A;

}  // namespace

State::State(const Config& config)
    : dim(config.dim),
      spad(static_cast<size_t>(config.spad_rows() * config.dim), kUnwrittenSpad),
      acc(static_cast<size_t>(config.acc_rows() * config.dim), kUnwrittenAcc) {}

void fail_rows(const RunningCommand& running, const Config& config, const LocalOperand& operand,
               int64_t count) {
  if (operand.norm_command() != 0) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs a device with normalizations (bits 28:26 of the local address are " +
                     std::to_string(operand.norm_command()) + "), has none");
  }
  if (!operand.is_acc() && (operand.accumulates() || operand.is_full_width())) {
    running.fail(
        ErrorKind::kAddressOutOfRange,
        "needs bit 31 (accumulator) where bit 30 or 29 is set, has " + sim::hex(operand.address));
  }
  const int64_t rows = operand.is_acc() ? config.acc_rows() : config.spad_rows();
  running.fail(ErrorKind::kAddressOutOfRange,
               std::string("needs rows ") + std::to_string(operand.row()) + " to " +
                   std::to_string(operand.row() + count - 1) + " of the " +
                   (operand.is_acc() ? "accumulator" : "scratchpad") + ", has " +
                   std::to_string(rows) + " rows");
}

}  // namespace npu::gemmini
