#include "gemmini/simulator/describe.h"

#include "sim/memory.h"

namespace npu::gemmini {
namespace {

std::string size_of(const LocalOperand& operand) {
  return std::to_string(operand.rows) + " rows x " + std::to_string(operand.cols) + " cols";
}

std::string sized(const LocalOperand& operand) {
  return describe(operand) + (operand.is_garbage() ? "" : ", " + size_of(operand));
}

std::string config_name(uint64_t rs1) {
  switch (bits(rs1, 1, 0)) {
    case kConfigEx:
      return "config_ex";
    case kConfigLd:
      return "config_ld[" + std::to_string(bits(rs1, 4, 3)) + "]";
    case kConfigSt:
      return "config_st";
    default:
      return "config_norm";
  }
}

// The names of npu_target/devices/gemmini/isa_loops.py.
std::string loop_name(uint8_t funct) {
  constexpr const char* kMatmul[] = {"loop_ws",
                                     "loop_ws.bounds",
                                     "loop_ws.addresses_ab",
                                     "loop_ws.addresses_dc",
                                     "loop_ws.strides_ab",
                                     "loop_ws.strides_dc"};
  if (funct <= kLoopWsConfigLast) return kMatmul[funct - kLoopWs];
  if (funct == kLoopConvWs) return "loop_conv_ws";
  return "loop_conv_ws.config_" + std::to_string(funct - kLoopConvWs);
}

std::string raw(const std::string& name, const Command& command) {
  return name + "(" + sim::hex(command.rs1) + ", " + sim::hex(command.rs2) + ")";
}

}  // namespace

std::string describe(const LocalOperand& operand) {
  if (operand.is_garbage()) return "garbage";
  std::string text = operand.is_acc() ? "acc " : "spad ";
  text += sim::hex(static_cast<uint64_t>(operand.row()));
  if (operand.accumulates()) text += " (accumulate)";
  if (operand.is_full_width()) text += " (full width)";
  if (operand.norm_command() != 0) text += " (norm " + std::to_string(operand.norm_command()) + ")";
  return text;
}

std::string describe(const Command& command) {
  const LocalOperand rs1(command.rs1);
  const LocalOperand rs2(command.rs2);
  switch (command.funct) {
    case kConfig:
      return raw(config_name(command.rs1), command);
    case kMvin:
    case kMvin2:
    case kMvin3: {
      const int id = load_id(command.funct);
      return "mvin" + (id == 0 ? "" : std::to_string(id + 1)) + "(" + sim::hex(command.rs1) +
             " -> " + sized(rs2) + ")";
    }
    case kMvout:
      return "mvout(" + sized(rs2) + " -> " + sim::hex(command.rs1) + ")";
    case kPreload:
      return "preload(" + sized(rs1) + "; result to " + sized(rs2) + ")";
    case kComputePreloaded:
      return "compute_preloaded(" + sized(rs1) + "; " + sized(rs2) + ")";
    case kComputeAccumulated:
      return "compute_accumulated(" + sized(rs1) + "; " + sized(rs2) + ")";
    case kFlush:
      return raw("flush", command);
    case kCounter:
      return raw("counter", command);
    default:
      break;
  }
  if (is_loop_command(command.funct)) return raw(loop_name(command.funct), command);
  return raw("funct " + std::to_string(command.funct), command);
}

}  // namespace npu::gemmini
