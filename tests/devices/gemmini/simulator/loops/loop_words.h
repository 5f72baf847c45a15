// Loop commands for tests, and what loops come to.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "../device.h"
#include "gemmini/simulator/command.h"
#include "gemmini/simulator/loops/registers.h"

namespace npu::gemmini::testing {

constexpr uint64_t three(uint64_t first, uint64_t second, uint64_t third) {
  return third << 32 | second << 16 | first;
}

// LOOP_WS with all of its configuration. C at 0: no store.
struct MatmulWords {
  uint64_t i = 1, j = 1, k = 1;
  uint64_t i_pad = 0, j_pad = 0, k_pad = 0;
  uint64_t a = kDram, b = kDram, d = 0, c = kDram;
  uint64_t rs1 = 0, rs2 = 0;

  std::vector<Command> words() const {
    return {{9, three(i_pad, j_pad, k_pad), three(i, j, k)},
            {10, a, b},
            {11, d, c},
            {12, 100, 200},
            {13, 300, 400},
            {kLoopWs, rs1, rs2}};
  }
};

// LOOP_CONV_WS of one image with all of its configuration, tensors packed.
struct ConvWords {
  uint64_t rows = 3, cols = 3;  // of the output
  uint64_t in_channels = 4, out_channels = 4;
  uint64_t kernel = 1, stride = 1, pad = 0;  // pad: on all sides
  uint64_t input = kDram, weights = kDram, bias = kDram, output = kDram;
  uint64_t rs1 = 0, rs2 = 1;  // bias, no pooling

  std::vector<Command> words() const {
    const uint64_t in_rows = (rows - 1) * stride + kernel - 2 * pad;
    const uint64_t in_cols = (cols - 1) * stride + kernel - 2 * pad;
    return {
        {16, out_channels << 48 | in_channels << 32 | in_rows << 16 | 1,
         stride << 48 | cols << 32 | rows << 16 | rows},
        {17, kernel << 48 | cols << 32 | 1 << 16 | 1 << 8,
         uint64_t{1} << 48 | rows << 32 | cols << 16 | out_channels},
        {18, kernel << 48 | kernel << 32 | in_channels << 16 | pad,
         (pad + stride - 1) << 48 | pad << 32 | (pad + stride - 1) << 24 | in_cols},
        {19, rows << 48 | 1, in_channels << 48 | out_channels << 32 | out_channels << 16 | cols},
        {20, weights, output},
        {21, bias, input},
        {kLoopConvWs, rs1, rs2}};
  }
};

// The loop that the last of `words` starts.
template <typename Loop>
Loop loop_of(loops::LoopRegisters& registers, const std::vector<Command>& words) {
  std::optional<loops::Loop> loop;
  for (const Command& command : words) loop = registers.take({command, 0});
  return std::get<Loop>(loop.value());
}
template <typename Loop>
Loop loop_of(const Config& config, const std::vector<Command>& words) {
  loops::LoopRegisters registers(config);
  return loop_of<Loop>(registers, words);
}

template <typename Unit>
std::vector<Command> all_of(Unit unit) {
  std::vector<Command> commands;
  while (const std::optional<Command> command = unit.next()) commands.push_back(*command);
  return commands;
}

}  // namespace npu::gemmini::testing
