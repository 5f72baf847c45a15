#include "gemmini/simulator/loops/conv_check.h"

#include <algorithm>
#include <string>

namespace npu::gemmini::loops {
namespace {

// Of CONFIG_LD's block stride and CONFIG_EX's strides.
constexpr int64_t kMaxStrideRows = 0xFFFF;

struct Named {
  const char* name;
  int64_t value;
};

[[noreturn]] void unsupported(const RunningCommand& running, const std::string& needs) {
  running.fail(ErrorKind::kUnsupportedCommand, needs);
}

void check_at_most(const RunningCommand& running, const Named& field, int64_t most) {
  if (field.value <= most) return;
  unsupported(running, std::string("needs ") + field.name + " of at most " + std::to_string(most) +
                           ", has " + std::to_string(field.value));
}

// CONFIG_ST has few bits for each of these.
void check_pooling(const RunningCommand& running, const ConvLoop& loop) {
  if (loop.pool_stride == 0 || loop.pool_size == 0) {
    unsupported(running, "needs a pool size and a pool stride of at least 1, has " +
                             std::to_string(loop.pool_size) + " and " +
                             std::to_string(loop.pool_stride));
  }
  const Named two_bits[] = {{"a pool stride", loop.pool_stride},
                            {"a pool size", loop.pool_size},
                            {"an upper pool padding", loop.pool_upper_pad},
                            {"a left pool padding", loop.pool_left_pad}};
  for (const Named& field : two_bits) check_at_most(running, field, 3);
  const Named eight_bits[] = {{"pooled columns of the whole output", loop.pool_out_cols},
                              {"pooled rows", loop.tile_pool_rows},
                              {"pooled columns", loop.tile_pool_cols},
                              {"output rows before pooling", loop.orows},
                              {"output columns before pooling", loop.ocols}};
  for (const Named& field : eight_bits) check_at_most(running, field, 255);
}

}  // namespace

void check_conv_flags(const RunningCommand& running, const Config& config, const ConvLoop& loop) {
  if (loop.activation > kRelu) {
    unsupported(running,
                "needs activation 0 (none) or 1 (ReLU), has " + std::to_string(loop.activation));
  }
  if (loop.has_pooling && config.has_pooling == 0) {
    unsupported(running, "needs a device with has_pooling, or bit 0 of rs2 (no pooling), has none");
  }
  if (loop.pixels_per_row > 1 && config.has_first_layer_pixel_repeats == 0) {
    unsupported(running, "needs a device with has_first_layer_pixel_repeats for " +
                             std::to_string(loop.pixels_per_row) + " pixels per row, has none");
  }
  if (loop.is_weight_1203 && loop.is_weight_0132) {
    unsupported(running, "needs at most one order of the weights (bits 3 and 4 of rs1), has two");
  }
  if (loop.is_downsampled &&
      (loop.stride != 2 || loop.krows != 1 || loop.kcols != 1 || loop.is_input_dilated)) {
    unsupported(running,
                "needs a 1x1 kernel, stride 2 and an input that is not dilated to downsample, "
                "has " +
                    std::to_string(loop.krows) + "x" + std::to_string(loop.kcols) + ", stride " +
                    std::to_string(loop.stride));
  }
  if (loop.is_input_dilated && loop.stride != 1) {
    unsupported(running, "needs stride 1 for a dilated input, has " + std::to_string(loop.stride));
  }
}

void check_conv_bounds(const RunningCommand& running, const ConvLoop& loop) {
  const Named bounds[] = {{"batches", loop.batches},
                          {"output rows", loop.orows},
                          {"output columns", loop.ocols},
                          {"output channels", loop.ochs},
                          {"kernel rows", loop.krows},
                          {"kernel columns", loop.kcols},
                          {"kernel channels", loop.ichs},
                          {"stride", loop.stride},
                          {"kernel dilation", loop.kernel_dilation}};
  for (const Named& bound : bounds) {
    if (bound.value == 0) {
      unsupported(running, std::string("needs ") + bound.name + " of at least 1, has 0");
    }
  }
  if (loop.has_pooling) check_pooling(running, loop);
}

void check_conv_shape(const RunningCommand& running, const ConvLoop& loop) {
  const int64_t padding = std::max({loop.upper_pad, loop.lower_pad, loop.left_pad, loop.right_pad});
  if (loop.is_downsampled && padding != 0) {
    unsupported(running, "needs no padding to downsample, has " + std::to_string(padding));
  }
  if (loop.pixels_per_row > 1 && loop.pixels_per_row * loop.ichs > loop.dim) {
    unsupported(running, "needs pixels per row x kernel channels of at most " +
                             std::to_string(loop.dim) + ", has " +
                             std::to_string(loop.pixels_per_row) + " x " +
                             std::to_string(loop.ichs));
  }
  check_at_most(running, {"rows of input per block of channels", loop.input_block_rows},
                kMaxStrideRows);
  check_at_most(running, {"rows of weights per block of channels", loop.weight_block_rows},
                kMaxStrideRows);
  check_at_most(running, {"rows of output per block of channels", loop.bias_block_rows},
                kMaxStrideRows);
}

}  // namespace npu::gemmini::loops
