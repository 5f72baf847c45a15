#include "gemmini/simulator/loops/conv_loads.h"

#include <algorithm>

#include "gemmini/simulator/loops/encode.h"

namespace npu::gemmini::loops {
namespace {

constexpr uint64_t kInputId = 0;
constexpr uint64_t kWeightsId = 1;
constexpr uint64_t kBiasId = 2;

// Counts `value` on from `first` to `end`; true when it starts anew.
bool wraps(int64_t& value, int64_t step, int64_t first, int64_t end) {
  value += step;
  if (value < end) return false;
  value = first;
  return true;
}

}  // namespace

ConvLoadBias::ConvLoadBias(const ConvLoop& loop)
    : loop_(loop),
      max_channels_(std::min(loop.ochs, loop.max_bias_channels)),
      is_done_(loop.bias_address == 0) {}

std::optional<Command> ConvLoadBias::next() {
  if (is_done_) return std::nullopt;
  if (!is_configured_) {
    is_configured_ = true;
    return config_load(kBiasId, loop_.bias_block_rows, 1, 0);
  }
  const Command command = mvin();
  advance();
  return command;
}

Command ConvLoadBias::mvin() const {
  const ConvLoop& loop = loop_;
  const int64_t row = loop.acc_row + och_ / loop.dim * loop.bias_block_rows +
                      (b_ * loop.orows + orow_) * loop.ocols + ocol_;
  const int64_t pixels = std::min(loop.dim, loop.ocols - ocol_);
  const int64_t channels = std::min(max_channels_, loop.ochs - och_);
  const uint64_t address =
      loop.has_bias ? dram_address(loop.bias_address, static_cast<uint64_t>(och_) * 4) : 0;
  return {kMvin3, address, local_operand(kAccBit | static_cast<uint32_t>(row), pixels, channels)};
}

void ConvLoadBias::advance() {
  is_done_ = wraps(och_, max_channels_, 0, loop_.ochs) && wraps(ocol_, loop_.dim, 0, loop_.ocols) &&
             wraps(orow_, 1, 0, loop_.orows) && wraps(b_, 1, 0, loop_.batches);
}

ConvLoadInput::ConvLoadInput(const ConvLoop& loop)
    : loop_(loop),
      max_channels_(std::min(loop.is_input_3120 ? loop.batches : loop.ichs, loop.max_channels)),
      irow_(-loop.upper_pad),
      icol_(-loop.left_pad),
      is_done_(loop.input_address == 0) {}

std::optional<Command> ConvLoadInput::next() {
  if (is_done_) return std::nullopt;
  if (!is_configured_) {
    is_configured_ = true;
    return config();
  }
  const Command command = mvin();
  advance();
  return command;
}

Command ConvLoadInput::config() const {
  const int64_t pixel_elements = loop_.is_input_3120 ? loop_.batch_size : loop_.in_stride;
  return config_load(kInputId, loop_.input_block_rows, loop_.pixels_per_row,
                     static_cast<uint64_t>(pixel_elements) << (loop_.is_downsampled ? 1 : 0));
}

// Input columns the next command covers: it stops where padding begins and ends.
int64_t ConvLoadInput::pixels() const {
  const ConvLoop& loop = loop_;
  if (icol_ < 0) return std::min(-icol_, loop.dim);
  if (icol_ >= loop.icols_unpadded) return std::min(loop.icols - loop.left_pad - icol_, loop.dim);
  return std::min(loop.icols_unpadded - icol_, loop.dim << (loop.is_downsampled ? 1 : 0));
}

uint64_t ConvLoadInput::offset_elements() const {
  const ConvLoop& loop = loop_;
  const auto of = [](int64_t value) { return static_cast<uint64_t>(value); };
  const uint64_t image = of(loop.is_input_3120 ? ich_ : b_);
  const uint64_t pixel = (image * of(loop.in_rows) + of(irow_)) * of(loop.in_cols) + of(icol_);
  if (loop.is_input_3120) return pixel * of(loop.batches) + of(b_);
  return pixel * of(loop.in_stride) + of(ich_);
}

Command ConvLoadInput::mvin() const {
  const ConvLoop& loop = loop_;
  const bool is_padding =
      irow_ < 0 || irow_ >= loop.irows_unpadded || icol_ < 0 || icol_ >= loop.icols_unpadded;
  const uint64_t address = is_padding ? 0 : dram_address(loop.input_address, offset_elements());
  const int64_t block = (loop.is_input_3120 ? b_ : ich_) / loop.dim;
  const int64_t image = loop.is_input_3120 ? ich_ : b_;
  const int64_t pixel =
      (image * loop.kept(loop.irows) + loop.kept(irow_ + loop.upper_pad)) * loop.kept(loop.icols) +
      loop.kept(icol_ + loop.left_pad);
  const int64_t row = loop.input_row + block * loop.input_block_rows + pixel;
  const int64_t channels =
      std::min(max_channels_, loop.is_input_3120 ? loop.batches - b_ : loop.ichs - ich_);
  return {kMvin, address, local_operand(static_cast<uint32_t>(row), loop.kept(pixels()), channels)};
}

void ConvLoadInput::advance() {
  const ConvLoop& loop = loop_;
  const int64_t columns = pixels();
  const int64_t end_row = loop.irows - loop.upper_pad;
  const int64_t end_col = loop.icols - loop.left_pad;
  is_done_ = wraps(ich_, loop.is_input_3120 ? 1 : max_channels_, 0, loop.ichs) &&
             wraps(icol_, columns, -loop.left_pad, end_col) &&
             wraps(irow_, loop.is_downsampled ? 2 : 1, -loop.upper_pad, end_row) &&
             wraps(b_, loop.is_input_3120 ? max_channels_ : 1, 0, loop.batches);
}

ConvLoadWeights::ConvLoadWeights(const ConvLoop& loop)
    : loop_(loop),
      och_step_(loop.is_weight_0132 ? loop.dim : std::min(loop.ochs, loop.max_channels)),
      kch_step_(loop.is_weight_0132 ? std::min(loop.ichs, loop.max_channels) : loop.dim),
      is_done_(loop.weights_address == 0) {}

std::optional<Command> ConvLoadWeights::next() {
  if (is_done_) return std::nullopt;
  if (!is_configured_) {
    is_configured_ = true;
    return config();
  }
  const Command command = mvin();
  advance();
  return command;
}

Command ConvLoadWeights::config() const {
  int64_t stride_bytes = loop_.weight_stride;
  if (loop_.is_depthwise) {
    stride_bytes = 1;
  } else if (loop_.is_weight_1203) {
    stride_bytes = loop_.kernel_dim * loop_.kernel_dim * loop_.out_channels;
  } else if (loop_.is_weight_0132) {
    stride_bytes = loop_.in_channels;
  }
  return config_load(kWeightsId, loop_.weight_block_rows, 1, static_cast<uint64_t>(stride_bytes));
}

uint64_t ConvLoadWeights::offset_elements() const {
  const ConvLoop& loop = loop_;
  const uint64_t tap = static_cast<uint64_t>(krow_ * loop.kernel_dim + kcol_);
  const uint64_t och = static_cast<uint64_t>(och_);
  const uint64_t kch = static_cast<uint64_t>(kch_);
  const uint64_t taps = static_cast<uint64_t>(loop.kernel_dim * loop.kernel_dim);
  const uint64_t in_channels = static_cast<uint64_t>(loop.in_channels);
  const uint64_t out_channels = static_cast<uint64_t>(loop.out_channels);
  if (loop.is_depthwise) return tap;
  if (loop.is_weight_1203) return (kch * taps + tap) * out_channels + och;
  if (loop.is_weight_0132) return (tap * out_channels + och) * in_channels + kch;
  return (tap * in_channels + kch) * static_cast<uint64_t>(loop.weight_stride) + och;
}

Command ConvLoadWeights::mvin() const {
  const ConvLoop& loop = loop_;
  const int64_t och_left = loop.ochs - och_;
  const int64_t kch_left = loop.ichs - kch_;
  const int64_t tap = krow_ * loop.kcols + kcol_;
  int64_t row = loop.weight_row;
  int64_t rows = 0;
  int64_t cols = 0;
  if (loop.is_weight_0132) {
    row += kch_ / loop.dim * loop.weight_block_rows + tap * loop.ochs + och_;
    rows = std::min(loop.dim, och_left);
    cols = std::min(kch_step_, kch_left);
  } else {
    row += och_ / loop.dim * loop.weight_block_rows + tap * loop.ichs + kch_;
    rows = std::min(loop.dim, kch_left);
    cols = std::min(och_step_, och_left);
  }
  return {kMvin2, dram_address(loop.weights_address, offset_elements()),
          local_operand(static_cast<uint32_t>(row), rows, cols)};
}

void ConvLoadWeights::advance() {
  is_done_ = wraps(kch_, kch_step_, 0, loop_.ichs) && wraps(kcol_, 1, 0, loop_.kcols) &&
             wraps(krow_, 1, 0, loop_.krows) && wraps(och_, och_step_, 0, loop_.ochs);
}

}  // namespace npu::gemmini::loops
