// The device's commands, and the fields packed into their two registers.
#pragma once

#include <cstdint>

#include "sim/command.h"

namespace npu::gemmini {

using sim::Command;

enum Funct : uint8_t {
  kConfig = 0,
  kMvin2 = 1,
  kMvin = 2,
  kMvout = 3,
  kComputePreloaded = 4,
  kComputeAccumulated = 5,
  kPreload = 6,
  kFlush = 7,
  kLoopWs = 8,
  kLoopWsConfigFirst = 9,
  kLoopWsConfigLast = 13,
  kMvin3 = 14,
  kLoopConvWs = 15,
  kLoopConvWsConfigFirst = 16,
  kLoopConvWsConfigLast = 21,
  kCounter = 126,
};

// rs1[1:0] of CONFIG.
enum ConfigKind : uint8_t { kConfigEx = 0, kConfigLd = 1, kConfigSt = 2, kConfigNorm = 3 };

enum Activation : uint8_t { kNoActivation = 0, kRelu = 1 };

// Bits [high:low] of a register.
constexpr uint64_t bits(uint64_t value, int high, int low) {
  return (value >> low) & ((uint64_t{1} << (high - low + 1)) - 1);
}
// The number in them, which is not below 0.
constexpr int64_t field(uint64_t value, int high, int low) {
  return static_cast<int64_t>(bits(value, high, low));
}
constexpr bool bit(uint64_t value, int position) { return ((value >> position) & 1) != 0; }

// A local address operand: where in the scratchpad or the accumulator, and how much.
struct LocalOperand {
  constexpr explicit LocalOperand(uint64_t value)
      : address(static_cast<uint32_t>(value)),
        cols(field(value, 47, 32)),
        rows(field(value, 63, 48)) {}

  constexpr bool is_garbage() const { return address == 0xFFFFFFFFu; }
  constexpr bool is_acc() const { return bit(address, 31); }
  constexpr bool accumulates() const { return bit(address, 30); }
  constexpr bool is_full_width() const { return bit(address, 29); }
  constexpr uint32_t norm_command() const { return static_cast<uint32_t>(bits(address, 28, 26)); }
  constexpr int64_t row() const { return field(address, 25, 0); }

  uint32_t address;
  int64_t cols;
  int64_t rows;
};

constexpr bool is_mvin(uint8_t funct) {
  return funct == kMvin || funct == kMvin2 || funct == kMvin3;
}
constexpr bool is_compute(uint8_t funct) {
  return funct == kComputePreloaded || funct == kComputeAccumulated;
}
// The CONFIG_LD id a MVIN command uses.
constexpr int load_id(uint8_t funct) { return funct == kMvin ? 0 : funct == kMvin2 ? 1 : 2; }
constexpr bool is_loop_command(uint8_t funct) {
  return (funct >= kLoopWs && funct <= kLoopWsConfigLast) ||
         (funct >= kLoopConvWs && funct <= kLoopConvWsConfigLast);
}

}  // namespace npu::gemmini
