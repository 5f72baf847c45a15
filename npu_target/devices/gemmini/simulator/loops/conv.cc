#include "gemmini/simulator/loops/conv.h"

#include <string>

#include "gemmini/simulator/loops/conv_check.h"
#include "gemmini/simulator/loops/half.h"

namespace npu::gemmini::loops {
namespace {

void decode_registers(const ConvRegisters& registers, ConvLoop& loop) {
  const auto rs1 = [&](int config) { return registers.configs[config - 1]->rs1; };
  const auto rs2 = [&](int config) { return registers.configs[config - 1]->rs2; };
  loop.batch_size = field(rs1(1), 15, 0);
  loop.in_rows = field(rs1(1), 31, 16);
  loop.in_channels = field(rs1(1), 47, 32);
  loop.out_channels = field(rs1(1), 63, 48);
  loop.out_rows = field(rs2(1), 15, 0);
  loop.pool_out_rows = field(rs2(1), 31, 16);
  loop.out_cols = field(rs2(1), 47, 32);
  loop.stride = field(rs2(1), 55, 48);

  loop.pool_stride = field(rs1(2), 15, 8);
  loop.pool_size = field(rs1(2), 31, 16);
  loop.pool_out_cols = field(rs1(2), 47, 32);
  loop.kernel_dim = field(rs1(2), 63, 48);
  loop.ochs = field(rs2(2), 15, 0);
  loop.tile_pool_cols = field(rs2(2), 31, 16);
  loop.tile_pool_rows = field(rs2(2), 47, 32);
  loop.batches = field(rs2(2), 63, 48);

  loop.given_left_pad = field(rs1(3), 15, 0);
  loop.ichs = field(rs1(3), 31, 16);
  loop.kcols = field(rs1(3), 47, 32);
  loop.krows = field(rs1(3), 63, 48);
  loop.in_cols = field(rs2(3), 15, 0);
  loop.pool_left_pad = field(rs2(3), 23, 16);
  loop.lower_pad = field(rs2(3), 31, 24);
  loop.given_upper_pad = field(rs2(3), 47, 32);
  loop.right_pad = field(rs2(3), 63, 48);

  loop.kernel_dilation = field(rs1(4), 9, 0);
  loop.pool_upper_pad = field(rs1(4), 31, 21);
  loop.orows = field(rs1(4), 63, 48);
  loop.ocols = field(rs2(4), 15, 0);
  loop.out_stride = field(rs2(4), 31, 16);
  loop.weight_stride = field(rs2(4), 47, 32);
  loop.in_stride = field(rs2(4), 63, 48);

  loop.weights_address = rs1(5);
  loop.output_address = rs2(5);
  loop.bias_address = rs1(6);
  loop.input_address = rs2(6);
}

void decode_flags(const Command& command, ConvLoop& loop) {
  loop.has_bias = !bit(command.rs1, 0);
  loop.is_rotated = bit(command.rs1, 1);
  loop.is_output_1203 = bit(command.rs1, 2);
  loop.is_weight_1203 = bit(command.rs1, 3);
  loop.is_weight_0132 = bit(command.rs1, 4);
  loop.is_input_3120 = bit(command.rs1, 5);
  loop.is_depthwise = bit(command.rs1, 6);
  loop.pixels_per_row = field(command.rs1, 15, 8);
  if (loop.pixels_per_row == 0) loop.pixels_per_row = 1;
  loop.has_pooling = !bit(command.rs2, 0);
  loop.is_downsampled = bit(command.rs2, 1);
  loop.is_input_dilated = bit(command.rs2, 2);
  loop.activation = bits(command.rs2, 4, 3);
}

int64_t dilated(int64_t kernel, int64_t dilation) { return (kernel - 1) * dilation + 1; }

// LoopConvState.derived_params. Rows of the input are those that output rows reach, and the
// stride - 1 after the last.
void derive(const RunningCommand& running, ConvLoop& loop) {
  const int64_t irows = loop.orows * loop.stride + dilated(loop.krows, loop.kernel_dilation) - 1;
  const int64_t icols = loop.ocols * loop.stride + dilated(loop.kcols, loop.kernel_dilation) - 1;
  const int64_t unpadded_rows = irows - loop.given_upper_pad - loop.lower_pad;
  const int64_t unpadded_cols = icols - loop.given_left_pad - loop.right_pad;
  if (unpadded_rows < 0 || unpadded_cols < 0) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs padding within the tile's " + std::to_string(irows) + " x " +
                     std::to_string(icols) + " input rows and columns, has more");
  }
  loop.irows_unpadded = loop.undilated(unpadded_rows);
  loop.icols_unpadded = loop.undilated(unpadded_cols);
  loop.upper_pad = loop.undilated(loop.given_upper_pad);
  loop.left_pad = loop.undilated(loop.given_left_pad);
  loop.lower_pad = loop.undilated(loop.lower_pad);
  loop.right_pad = loop.undilated(loop.right_pad);
  loop.irows = loop.irows_unpadded + loop.upper_pad + loop.lower_pad;
  loop.icols = loop.icols_unpadded + loop.left_pad + loop.right_pad;

  const int64_t pixels = bounded_product(loop.kept(loop.irows), loop.kept(loop.icols));
  loop.bias_block_rows = bounded_product(bounded_product(loop.batches, loop.orows), loop.ocols);
  loop.input_block_rows = bounded_product(loop.is_input_3120 ? loop.ichs : loop.batches, pixels);
  loop.weight_block_rows = bounded_product(bounded_product(loop.krows, loop.kcols),
                                           loop.is_weight_0132 ? loop.ochs : loop.ichs);
}

int64_t blocks(int64_t channels, int64_t dim) { return (channels + dim - 1) / dim; }

// The input lies at the start of its half, the weights at the end of theirs.
void place_operands(const RunningCommand& running, const Config& config, ConvLoop& loop) {
  const int64_t dim = loop.dim;
  loop.input_rows = bounded_product(loop.input_block_rows,
                                    blocks(loop.is_input_3120 ? loop.batches : loop.ichs, dim));
  loop.weight_rows = bounded_product(loop.weight_block_rows,
                                     blocks(loop.is_weight_0132 ? loop.ichs : loop.ochs, dim));
  loop.output_rows = bounded_product(loop.bias_block_rows, blocks(loop.ochs, dim));
  const int64_t half = config.spad_rows() / 2;
  const int64_t in_half = half_of(running, "input", bits(running.command.rs1, 19, 18), loop.slot);
  const int64_t weight_half =
      half_of(running, "weights", bits(running.command.rs1, 17, 16), loop.slot);
  check_operands(running, {"input", loop.input_rows, in_half},
                 {"weights", loop.weight_rows, weight_half}, half);
  check_half(running, "output", loop.output_rows, "accumulator", config.acc_rows() / 2);
  loop.input_row = in_half * half;
  loop.weight_row = (weight_half + 1) * half - loop.weight_rows;
}

}  // namespace

ConvLoop ConvLoop::decode(const RunningCommand& running, const Config& config,
                          const ConvRegisters& registers, ConvPlaces& places) {
  for (int i = 0; i < 6; ++i) {
    if (!registers.configs[i]) fail_undefined(running, "loop_conv_ws", kLoopConvWsConfigFirst + i);
  }
  ConvLoop loop{};
  loop.slot = places.slot;
  loop.dim = config.dim;
  decode_registers(registers, loop);
  decode_flags(running.command, loop);
  check_conv_flags(running, config, loop);
  check_conv_bounds(running, loop);
  derive(running, loop);
  place_operands(running, config, loop);
  check_conv_shape(running, loop);
  loop.acc_row = places.acc_row;
  loop.max_channels = config.dma_max_cols(1);
  loop.max_bias_channels = config.dma_max_cols(4);

  places.slot ^= 1;
  if (loop.output_address != 0) places.acc_row = config.acc_rows() / 2 - places.acc_row;
  return loop;
}

}  // namespace npu::gemmini::loops
