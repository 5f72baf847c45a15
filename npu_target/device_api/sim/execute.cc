#include "execute.h"

#include <algorithm>
#include <string>

#include "scale.h"

namespace npu::sim {

Array::Array(const Config& config, State& state)
    : config_(config), state_(state), dim_(config.dim), mac_(choose_mac(config.dim)) {
  const size_t elements = static_cast<size_t>(dim_ * dim_);
  for (auto* tile : {&preloaded_, &weights_, &a_, &other_, &other_pairs_}) tile->resize(elements);
  for (auto* tile : {&sums_, &products_}) tile->resize(elements);
}

const ExecuteMode& Array::mode(const RunningCommand& running) const {
  if (!state_.execute || !state_.strides) {
    running.fail(ErrorKind::kUndefinedConfiguration,
                 state_.strides ? "needs a config_ex before it, has only one that sets strides"
                                : "needs a config_ex before it, has none");
  }
  return *state_.execute;
}

void Array::read_tile(const RunningCommand& running, const LocalOperand& operand,
                      int64_t row_stride, bool is_transposed, std::vector<int16_t>& to) const {
  if (operand.is_acc()) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs operands in the scratchpad, has " + describe(operand));
  }
  if (operand.rows > dim_ || operand.cols > dim_) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs at most " + std::to_string(dim_) + " rows and cols, has " +
                     std::to_string(operand.rows) + " and " + std::to_string(operand.cols));
  }
  if (operand.rows == 0 || operand.cols == 0) {
    std::fill(to.begin(), to.end(), int16_t{0});
    return;
  }
  const int64_t lines = is_transposed ? operand.cols : operand.rows;
  const int64_t length = is_transposed ? operand.rows : operand.cols;
  check_rows(running, config_, operand, 0, (lines - 1) * row_stride + 1);
  if (lines < dim_ || length < dim_) std::fill(to.begin(), to.end(), int16_t{0});
  for (int64_t line = 0; line < lines; ++line) {
    const int8_t* from = state_.spad_row(operand.row() + line * row_stride);
    if (is_transposed) {
      for (int64_t i = 0; i < length; ++i) to[i * dim_ + line] = from[i];
    } else {
      std::copy_n(from, length, to.begin() + line * dim_);
    }
  }
}

void Array::interleave(const std::vector<int16_t>& tile, std::vector<int16_t>& pairs) const {
  for (int64_t k = 0; k < dim_; k += 2) {
    const int16_t* even = tile.data() + k * dim_;
    const int16_t* odd = even + dim_;
    int16_t* to = pairs.data() + k * dim_;
    for (int64_t j = 0; j < dim_; ++j) {
      to[2 * j] = even[j];
      to[2 * j + 1] = odd[j];
    }
  }
}

void Array::widen(const std::vector<int16_t>& tile, std::vector<int32_t>& to) const {
  std::copy(tile.begin(), tile.end(), to.begin());
}

void Array::preload(const RunningCommand& running) {
  const ExecuteMode& mode = this->mode(running);
  const LocalOperand from(running.command.rs1);
  const LocalOperand result(running.command.rs2);
  if (result_ && !result_->is_garbage()) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs a compute after the preload before it, whose result goes to " +
                     describe(*result_) + ", has none");
  }
  if (!result.is_garbage()) {
    if (result.rows > dim_ || result.cols > dim_) {
      running.fail(ErrorKind::kUnsupportedCommand,
                   "needs at most " + std::to_string(dim_) + " rows and cols of result, has " +
                       std::to_string(result.rows) + " and " + std::to_string(result.cols));
    }
    if (result.rows > 0) {
      check_rows(running, config_, result, 0, (result.rows - 1) * state_.strides->c_rows + 1);
    }
  }
  is_preloaded_zero_ = from.is_garbage();
  if (!is_preloaded_zero_) {
    const bool is_b = mode.dataflow == Dataflow::kWeightStationary;
    read_tile(running, from, 1, is_b && mode.is_b_transposed, preloaded_);
  }
  result_ = result;
}

// Takes over what the last PRELOAD brought.
void Array::flip(const RunningCommand& running, const ExecuteMode& mode) {
  if (running.command.funct == kComputePreloaded) {
    if (is_preloaded_zero_) std::fill(preloaded_.begin(), preloaded_.end(), int16_t{0});
    if (mode.dataflow == Dataflow::kWeightStationary) {
      interleave(preloaded_, weights_);
    } else {
      widen(preloaded_, sums_);
    }
    held_ = mode.dataflow;
  } else if (held_ != mode.dataflow) {
    running.fail(ErrorKind::kUndefinedConfiguration,
                 "needs a compute_preloaded before it in the same dataflow, has none");
  }
}

void Array::compute(const RunningCommand& running) {
  const ExecuteMode& mode = this->mode(running);
  const LocalOperand a(running.command.rs1);
  const LocalOperand other(running.command.rs2);
  if (!result_) {
    running.fail(ErrorKind::kUndefinedConfiguration,
                 "needs a preload of its own before it, has none");
  }
  if (a.is_garbage()) {
    running.fail(ErrorKind::kGarbageOperand, "needs an A, has garbage");
  }
  flip(running, mode);
  read_tile(running, a, state_.strides->a_rows, mode.is_a_transposed, a_);
  const int64_t rows = a.rows;  // further rows of A are zero
  if (mode.dataflow == Dataflow::kWeightStationary) {
    if (other.is_garbage()) {
      std::fill(products_.begin(), products_.end(), 0);
    } else {
      read_tile(running, other, 1, false, other_);
      widen(other_, products_);
    }
    mac_(a_.data(), weights_.data(), products_.data(), rows, dim_);
    write_result(running, mode, products_);
  } else {
    if (!other.is_garbage()) {
      read_tile(running, other, 1, mode.is_b_transposed, other_);
      interleave(other_, other_pairs_);
      mac_(a_.data(), other_pairs_.data(), sums_.data(), rows, dim_);
    }
    write_result(running, mode, sums_);
  }
  result_.reset();
}

void Array::write_result(const RunningCommand& running, const ExecuteMode& mode,
                         const std::vector<int32_t>& result) {
  const LocalOperand to = *result_;
  if (to.is_garbage() || to.rows == 0) return;
  const int64_t c_stride_rows = state_.strides->c_rows;
  // The strides may have changed since PRELOAD checked them.
  check_rows(running, config_, to, 0, (to.rows - 1) * c_stride_rows + 1);
  const int shift = mode.dataflow == Dataflow::kOutputStationary ? mode.shift : 0;
  for (int64_t i = 0; i < to.rows; ++i) {
    const int32_t* from = result.data() + i * dim_;
    const int64_t row = to.row() + i * c_stride_rows;
    if (to.is_acc()) {
      int32_t* into = state_.acc_row(row);
      for (int64_t j = 0; j < to.cols; ++j) {
        const int32_t value = rounding_shift_right(from[j], shift);
        into[j] = to.accumulates() ? add_wrapping(into[j], value) : value;
      }
    } else {
      int8_t* into = state_.spad_row(row);
      const int8_t least = mode.has_relu ? 0 : -128;
      for (int64_t j = 0; j < to.cols; ++j) {
        into[j] = std::max(saturate_int8(rounding_shift_right(from[j], shift)), least);
      }
    }
  }
}

}  // namespace npu::sim
