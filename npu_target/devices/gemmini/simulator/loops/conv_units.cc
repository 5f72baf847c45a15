#include "gemmini/simulator/loops/conv_units.h"

#include <algorithm>

#include "gemmini/simulator/loops/encode.h"

namespace npu::gemmini::loops {
namespace {

// Counts `value` on to `end`; true when it starts anew.
bool wraps(int64_t& value, int64_t step, int64_t end) {
  value += step;
  if (value < end) return false;
  value = 0;
  return true;
}

}  // namespace

ConvExecute::ConvExecute(const ConvLoop& loop) : loop_(loop), is_configured_(!loop.is_input_3120) {
  if (is_configured_) pass_over();
}

std::optional<Command> ConvExecute::next() {
  if (is_done_) return std::nullopt;
  passed_over_ = 0;
  if (!is_configured_) {
    const Command command = config();
    is_configured_ = true;
    pass_over();
    return command;
  }
  if (!is_preloaded_) {
    is_preloaded_ = true;
    return preload();
  }
  const Command command = compute();
  is_preloaded_ = false;
  has_new_weights_ = false;
  advance(loop_.is_input_3120 ? 1 : loop_.is_input_dilated ? 2 * loop_.dim : loop_.dim);
  pass_over();
  return command;
}

Command ConvExecute::config() const {
  constexpr uint64_t kStridesOnly = uint64_t{1} << 7;
  const uint64_t a_stride = static_cast<uint64_t>(loop_.irows * loop_.icols) & 0xFFFF;
  const uint64_t c_stride = static_cast<uint64_t>(loop_.orows * loop_.ocols) & 0xFFFF;
  return {kConfig, a_stride << 16 | kStridesOnly | kConfigEx, c_stride << 48};
}

// Rows of A and C.
int64_t ConvExecute::pixels() const {
  const ConvLoop& loop = loop_;
  if (loop.is_input_3120) return std::min(loop.dim, loop.batches - b_);
  return loop.undilated(
      std::min(loop.ocols - ocol_, loop.is_input_dilated ? 2 * loop.dim : loop.dim));
}

// Columns of A and rows of B.
int64_t ConvExecute::channels() const {
  return std::min(loop_.pixels_per_row, loop_.kcols - kcol_) *
         std::min(loop_.dim, loop_.ichs - kch_);
}

Command ConvExecute::preload() const {
  const ConvLoop& loop = loop_;
  const int64_t krow = loop.is_rotated ? loop.krows - 1 - krow_ : krow_;
  const int64_t kcol = loop.is_rotated ? loop.kcols - 1 - kcol_ : kcol_;
  const int64_t tap = krow * loop.kcols + kcol;
  const int64_t b = loop.is_weight_0132
                        ? kch_ / loop.dim * loop.weight_block_rows + tap * loop.ochs + och_
                        : och_ / loop.dim * loop.weight_block_rows + tap * loop.ichs + kch_;
  const int64_t c = loop.acc_row + och_ / loop.dim * loop.bias_block_rows +
                    (b_ * loop.orows + orow_) * loop.ocols + ocol_;
  const int64_t cols = std::min(loop.dim, loop.ochs - och_);
  const uint32_t from =
      has_new_weights_ ? static_cast<uint32_t>(loop.weight_row + b) : kGarbageAddress;
  return {kPreload, local_operand(from, channels(), cols),
          local_operand(kAccBit | kAccumulateBit | static_cast<uint32_t>(c), pixels(), cols)};
}

Command ConvExecute::compute() const {
  const ConvLoop& loop = loop_;
  const int64_t irow = loop.undilated(orow_ * loop.stride + krow_ * loop.kernel_dilation);
  const int64_t icol = loop.undilated(ocol_ * loop.stride + kcol_ * loop.kernel_dilation);
  const int64_t block = (loop.is_input_3120 ? b_ : kch_) / loop.dim;
  const int64_t image = loop.is_input_3120 ? kch_ : b_;
  const int64_t pixel =
      (image * loop.kept(loop.irows) + loop.kept(irow)) * loop.kept(loop.icols) + loop.kept(icol);
  const int64_t row = loop.input_row + block * loop.input_block_rows + pixel;
  const int64_t cols = std::min(loop.dim, loop.ochs - och_);
  return {has_new_weights_ ? kComputePreloaded : kComputeAccumulated,
          local_operand(static_cast<uint32_t>(row), pixels(), channels()),
          local_operand(kGarbageAddress, pixels(), cols)};
}

// Whether the pixels at hand fall between those of the dilated input.
bool ConvExecute::meets_zero() const {
  if (!loop_.is_input_dilated) return false;
  const int64_t row = krow_ * loop_.kernel_dilation + orow_ - loop_.given_upper_pad;
  const int64_t col = kcol_ * loop_.kernel_dilation + ocol_ - loop_.given_left_pad;
  return row % 2 != 0 || col % 2 != 0;
}

void ConvExecute::pass_over() {
  while (!is_done_ && meets_zero()) {
    ++passed_over_;
    advance(1);
  }
}

void ConvExecute::advance(int64_t columns) {
  const ConvLoop& loop = loop_;
  const int64_t batches = loop.is_input_3120 ? loop.dim : 1;
  if (!(wraps(ocol_, columns, loop.ocols) && wraps(orow_, 1, loop.orows) &&
        wraps(b_, batches, loop.batches))) {
    return;
  }
  has_new_weights_ = true;
  is_done_ = wraps(kch_, loop.dim, loop.ichs) && wraps(kcol_, loop.pixels_per_row, loop.kcols) &&
             wraps(krow_, 1, loop.krows) && wraps(och_, loop.dim, loop.ochs);
}

ConvStore::ConvStore(const ConvLoop& loop)
    : loop_(loop),
      state_(loop.output_address == 0 ? State::kDone
             : loop.has_pooling       ? State::kConfigure
                                      : State::kStore) {}

std::optional<Command> ConvStore::next() {
  switch (state_) {
    case State::kConfigure:
      state_ = State::kStore;
      return configure_pooling();
    case State::kStore: {
      const Command command = store();
      advance();
      return command;
    }
    case State::kRestore:
      state_ = State::kDone;
      return end_pooling();
    case State::kDone:
      return std::nullopt;
  }
  return std::nullopt;
}

Command ConvStore::configure_pooling() const {
  const ConvLoop& loop = loop_;
  const auto at = [](int64_t value, int low) { return static_cast<uint64_t>(value) << low; };
  Command command = end_pooling();
  command.rs1 |= at(loop.ocols, 56) | at(loop.orows, 48) | at(loop.tile_pool_cols, 40) |
                 at(loop.tile_pool_rows, 32) | at(loop.pool_out_cols, 24) |
                 at(loop.pool_left_pad, 10) | at(loop.pool_upper_pad, 8) | at(loop.pool_size, 6) |
                 at(loop.pool_stride, 4);
  return command;
}

Command ConvStore::end_pooling() const {
  return {kConfig, loop_.activation << 2 | kConfigSt,
          kKeptScaleBits << 32 | static_cast<uint64_t>(loop_.out_stride)};
}

Command ConvStore::store() const {
  const ConvLoop& loop = loop_;
  const int64_t channels = std::min(loop.dim, loop.ochs - och_);
  const int64_t row = loop.acc_row + och_ / loop.dim * loop.bias_block_rows +
                      (b_ * loop.orows + orow_) * loop.ocols + ocol_;
  const uint32_t local = kAccBit | static_cast<uint32_t>(row);
  if (loop.has_pooling) {
    return {kMvout, loop.output_address + offset_elements(), local_operand(local, 0, channels)};
  }
  return {kMvout, dram_address(loop.output_address, offset_elements()),
          local_operand(local, std::min(loop.dim, loop.ocols - ocol_), channels)};
}

uint64_t ConvStore::offset_elements() const {
  const ConvLoop& loop = loop_;
  const auto of = [](int64_t value) { return static_cast<uint64_t>(value); };
  const uint64_t b = of(b_);
  if (loop.has_pooling) {
    return b * of(loop.pool_out_rows) * of(loop.pool_out_cols) * of(loop.out_stride) + of(och_);
  }
  if (loop.is_output_1203) {
    const uint64_t pixel = of(orow_) * of(loop.out_cols) + of(ocol_);
    return (pixel * of(loop.batch_size) + b) * of(loop.out_channels) + of(och_);
  }
  const uint64_t pixel = (b * of(loop.out_rows) + of(orow_)) * of(loop.out_cols) + of(ocol_);
  return pixel * of(loop.out_stride) + of(och_);
}

void ConvStore::advance() {
  const ConvLoop& loop = loop_;
  if (!wraps(och_, loop.dim, loop.ochs)) return;
  if (!loop.has_pooling && !(wraps(ocol_, loop.dim, loop.ocols) && wraps(orow_, 1, loop.orows))) {
    return;
  }
  if (!wraps(b_, 1, loop.batches)) return;
  state_ = loop.has_pooling ? State::kRestore : State::kDone;
}

}  // namespace npu::gemmini::loops
