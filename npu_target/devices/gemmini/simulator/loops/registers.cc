#include "gemmini/simulator/loops/registers.h"

namespace npu::gemmini::loops {

std::optional<Loop> LoopRegisters::take(const RunningCommand& running) {
  if (config_.has_loop_commands == 0) {
    running.fail(ErrorKind::kUnsupportedCommand, "needs a device with has_loop_commands, has none");
  }
  const Command& command = running.command;
  MatmulRegisters& matmul = matmul_[matmul_places_.slot];
  ConvRegisters& conv = conv_[conv_places_.slot];
  if (command.funct == kLoopWs) {
    return MatmulLoop::decode(running, config_, matmul, matmul_places_);
  }
  if (command.funct == kLoopConvWs) {
    return ConvLoop::decode(running, config_, conv, conv_places_);
  }
  if (command.funct <= kLoopWsConfigLast) {
    matmul.set(command);
  } else {
    conv.set(command);
  }
  return std::nullopt;
}

}  // namespace npu::gemmini::loops
