// The words of the simple commands that the loops expand to.
#pragma once

#include <cstdint>

#include "gemmini/simulator/command.h"

namespace npu::gemmini::loops {

inline constexpr uint32_t kAccBit = uint32_t{1} << 31;
inline constexpr uint32_t kAccumulateBit = uint32_t{1} << 30;
inline constexpr uint32_t kFullWidthBit = uint32_t{1} << 29;
inline constexpr uint32_t kGarbageAddress = 0xFFFFFFFF;
inline constexpr uint64_t kScaleOneBits = 0x3F800000;
inline constexpr uint64_t kKeptScaleBits = 0xFFFFFFFF;

// A local address operand: flags and row in one, then the size.
constexpr uint64_t local_operand(uint32_t address, int64_t rows, int64_t cols) {
  return static_cast<uint64_t>(rows) << 48 | static_cast<uint64_t>(cols) << 32 | address;
}

// The unrollers add offsets into DRAM modulo 2^32 (castDramOffset of LoopMatmul.scala and
// LoopConv.scala).
constexpr uint64_t dram_address(uint64_t base, uint64_t offset_bytes) {
  return base + (offset_bytes & 0xFFFFFFFF);
}

// CONFIG_LD as LOOP_CONV_WS issues it: scale one, nothing shrunk.
constexpr Command config_load(uint64_t id, int64_t block_stride_rows, int64_t pixel_repeats,
                              uint64_t stride_bytes) {
  return {kConfig,
          kScaleOneBits << 32 | static_cast<uint64_t>(block_stride_rows) << 16 |
              static_cast<uint64_t>(pixel_repeats) << 8 | id << 3 | kConfigLd,
          stride_bytes};
}

}  // namespace npu::gemmini::loops
