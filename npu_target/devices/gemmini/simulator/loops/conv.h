// LOOP_CONV_WS: what one of these loops is to do.
#pragma once

#include <cstdint>
#include <optional>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/fault.h"

namespace npu::gemmini::loops {

// The registers that commands 16 to 21 set and LOOP_CONV_WS uses. The device keeps two sets.
struct ConvRegisters {
  std::optional<Command> configs[6];

  // Takes one of the commands 16 to 21.
  void set(const Command& command) { configs[command.funct - kLoopConvWsConfigFirst] = command; }
};

// Where the next loop begins: which half of the scratchpad, and first row in the accumulator,
// which moves to the other half with every loop that stores.
struct ConvPlaces {
  int64_t slot = 0;  // 0 or 1
  int64_t acc_row = 0;
};

// One LOOP_CONV_WS, checked, in the rectangular encoding: a tile of a convolution. Pixels and
// channels are the loop's units; a row of a local memory holds one pixel, `dim` channels of it.
struct ConvLoop {
  int64_t slot;
  int64_t dim;

  // The whole tensors, as they lie in DRAM.
  int64_t batch_size;
  int64_t in_rows;
  int64_t in_cols;
  int64_t in_channels;
  int64_t out_channels;
  int64_t out_rows;
  int64_t out_cols;
  int64_t pool_out_rows;
  int64_t pool_out_cols;
  int64_t kernel_dim;
  int64_t in_stride;  // from pixel to pixel, in elements
  int64_t weight_stride;
  int64_t out_stride;
  uint64_t input_address;  // 0: not loaded
  uint64_t weights_address;
  uint64_t bias_address;
  uint64_t output_address;

  int64_t stride;
  int64_t kernel_dilation;
  int64_t pool_size;
  int64_t pool_stride;
  int64_t pool_upper_pad;
  int64_t pool_left_pad;
  int64_t tile_pool_rows;  // of the pooled output
  int64_t tile_pool_cols;

  // This tile.
  int64_t batches;
  int64_t orows;  // of the output before pooling
  int64_t ocols;
  int64_t ochs;
  int64_t krows;
  int64_t kcols;
  int64_t ichs;
  int64_t upper_pad;  // all four as the unrollers count them: halved where the input is dilated
  int64_t lower_pad;
  int64_t left_pad;
  int64_t right_pad;
  int64_t given_upper_pad;  // as they were given
  int64_t given_left_pad;

  bool has_bias;
  bool is_rotated;  // weights by 180 degrees
  bool is_output_1203;
  bool is_weight_1203;
  bool is_weight_0132;
  bool is_input_3120;
  bool is_depthwise;
  bool has_pooling;
  bool is_downsampled;
  bool is_input_dilated;
  uint64_t activation;
  int64_t pixels_per_row;

  // Derived. Input rows and columns are those a loop works through, with and without padding.
  int64_t irows;
  int64_t icols;
  int64_t irows_unpadded;
  int64_t icols_unpadded;
  // Rows of a local memory from one block of `dim` channels to the next.
  int64_t bias_block_rows;
  int64_t input_block_rows;
  int64_t weight_block_rows;
  // Of all blocks.
  int64_t input_rows;
  int64_t weight_rows;
  int64_t output_rows;
  // First rows in the local memories.
  int64_t input_row;
  int64_t weight_row;
  int64_t acc_row;
  // Channels one command moves at most.
  int64_t max_channels;
  int64_t max_bias_channels;

  // x/2, rounded up, where the input is dilated (a zero between any two pixels).
  int64_t undilated(int64_t x) const { return is_input_dilated ? (x + 1) / 2 : x; }
  // Rows (or columns) of the input that are kept.
  int64_t kept(int64_t x) const { return is_downsampled ? x / 2 : x; }

  // The loop that `running`, a LOOP_CONV_WS, starts, and the places of the one after it. Throws
  // SimError: undefined_configuration for registers nobody has set, address_out_of_range for a
  // tile beyond its half of a memory, unsupported_command for what the device cannot do.
  static ConvLoop decode(const RunningCommand& running, const Config& config,
                         const ConvRegisters& registers, ConvPlaces& places);
};

}  // namespace npu::gemmini::loops
