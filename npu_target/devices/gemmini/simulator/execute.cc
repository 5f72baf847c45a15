#include "gemmini/simulator/execute.h"

#include <algorithm>
#include <string>

#include "gemmini/simulator/scale.h"

namespace npu::gemmini {
Array::Array(const Config& config, State& state)
    : config_(config),
      state_(state),
      dim_(config.dim),
      output_bits_(static_cast<int>(config.array_output_bits)),
      may_products_wrap_(dim_ * 128 * 128 + 128 >= int64_t{1} << (output_bits_ - 1)),
      kernels_(usable_kernels(config.dim).front()) {
  const size_t elements = static_cast<size_t>(dim_ * dim_);
  for (auto* tile : {&preloaded_, &a_, &other_}) tile->resize(elements);
  for (auto* packed : {&weights_, &other_packed_}) packed->resize(elements);
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

void Array::check_tile(const RunningCommand& running, const LocalOperand& operand,
                       int64_t row_stride, bool is_transposed) const {
  if (operand.is_acc()) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs operands in the scratchpad, has " + describe(operand));
  }
  if (operand.rows > dim_ || operand.cols > dim_) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs at most " + std::to_string(dim_) + " rows and cols, has " +
                     std::to_string(operand.rows) + " and " + std::to_string(operand.cols));
  }
  if (operand.rows == 0 || operand.cols == 0) return;
  const int64_t lines = is_transposed ? operand.cols : operand.rows;
  check_rows(running, config_, operand, (lines - 1) * row_stride + 1);
}

void Array::copy_tile(const LocalOperand& operand, int64_t row_stride, bool is_transposed,
                      std::vector<int8_t>& to) const {
  const bool is_whole = operand.rows == dim_ && operand.cols == dim_;
  if (is_whole && row_stride == 1 && !is_transposed) {
    std::copy_n(state_.spad_row(operand.row()), dim_ * dim_, to.begin());
    return;
  }
  if (!is_whole) std::fill(to.begin(), to.end(), int8_t{0});
  if (operand.rows == 0 || operand.cols == 0) return;
  const int64_t lines = is_transposed ? operand.cols : operand.rows;
  const int64_t length = is_transposed ? operand.rows : operand.cols;
  for (int64_t line = 0; line < lines; ++line) {
    const int8_t* from = state_.spad_row(operand.row() + line * row_stride);
    if (is_transposed) {
      for (int64_t i = 0; i < length; ++i) to[i * dim_ + line] = from[i];
    } else {
      std::copy_n(from, length, to.begin() + line * dim_);
    }
  }
}

void Array::read_tile(const RunningCommand& running, const LocalOperand& operand,
                      bool is_transposed, std::vector<int8_t>& to) const {
  check_tile(running, operand, 1, is_transposed);
  copy_tile(operand, 1, is_transposed, to);
}

void Array::check_done(const RunningCommand& running) const {
  if (result_ && !result_->is_garbage()) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs a compute after the preload before it, whose result goes to " +
                     describe(*result_) + ", has none");
  }
}

void Array::check_result_stride(const RunningCommand& running, const ExecuteMode& mode,
                                const LocalOperand& result) const {
  const int64_t stride = state_.strides->c_rows;
  if (mode.dataflow == Dataflow::kOutputStationary) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs a C stride of 1 in the output-stationary dataflow, has " +
                     std::to_string(stride) + ": rows would be counted from the last one down");
  }
  if (stride == 0 && result.rows > 1 && result.is_acc() && result.accumulates()) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs a C stride of at least 1 to add " + std::to_string(result.rows) +
                     " rows, has 0: the accumulator drops a row that follows another to the same "
                     "place");
  }
}

bool Array::takes_all_rows(const ExecuteMode& mode) const {
  return mode.dataflow == Dataflow::kOutputStationary || mode.is_a_transposed ||
         mode.is_b_transposed || dim_ <= kLeastRowsFed;
}

void Array::check_rows_fed(const RunningCommand& running, const ExecuteMode& mode,
                           const LocalOperand& a, const LocalOperand& d) const {
  if (result_->is_garbage() || takes_all_rows(mode)) return;
  const int64_t rows = std::max({a.rows, d.is_garbage() ? 0 : d.rows, kLeastRowsFed});
  if (result_->rows <= rows) return;
  running.fail(ErrorKind::kUnsupportedCommand,
               "needs an A or D with the rows of its result, has " + std::to_string(rows) +
                   " of the " + std::to_string(result_->rows) + " of " + describe(*result_) +
                   ": of the others only what comes next says whether they are written");
}

void Array::preload(const RunningCommand& running) {
  const ExecuteMode& mode = this->mode(running);
  const LocalOperand from(running.command.rs1);
  const LocalOperand result(running.command.rs2);
  check_done(running);
  if (!result.is_garbage()) {
    if (result.rows > dim_ || result.cols > dim_) {
      running.fail(ErrorKind::kUnsupportedCommand,
                   "needs at most " + std::to_string(dim_) + " rows and cols of result, has " +
                       std::to_string(result.rows) + " and " + std::to_string(result.cols));
    }
    if (result.rows > 0) {
      check_rows(running, config_, result, (result.rows - 1) * state_.strides->c_rows + 1);
      if (state_.strides->c_rows != 1) check_result_stride(running, mode, result);
    }
  }
  is_preloaded_zero_ = from.is_garbage();
  if (!is_preloaded_zero_) {
    const bool is_b = mode.dataflow == Dataflow::kWeightStationary;
    read_tile(running, from, is_b && mode.is_b_transposed, preloaded_);
  }
  result_ = result;
}

// Takes over what the last PRELOAD brought.
void Array::flip(const RunningCommand& running, const ExecuteMode& mode) {
  if (running.command.funct == kComputePreloaded) {
    if (is_preloaded_zero_) {
      if (!takes_all_rows(mode)) {
        running.fail(ErrorKind::kGarbageOperand,
                     "needs a B of the preload before it to take over, has garbage, which pushes "
                     "out only as many rows of the weights before as the array takes by then; for "
                     "weights of zero preload a B of 0 rows and columns");
      }
      std::fill(preloaded_.begin(), preloaded_.end(), int8_t{0});
    }
    if (mode.dataflow == Dataflow::kWeightStationary) {
      kernels_.pack(preloaded_.data(), weights_.data(), dim_);
    } else {
      std::copy(preloaded_.begin(), preloaded_.end(), sums_.begin());
    }
    held_ = mode.dataflow;
  } else if (held_ != mode.dataflow) {
    running.fail(ErrorKind::kUndefinedConfiguration,
                 "needs a compute_preloaded before it in the same dataflow, and no "
                 "output-stationary result since, which takes the sums out of the array; has none");
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
  check_tile(running, a, state_.strides->a_rows, mode.is_a_transposed);
  const int64_t rows = a.rows;  // further rows of A are zero
  if (result_->rows > rows) check_rows_fed(running, mode, a, other);
  if (mode.dataflow == Dataflow::kOutputStationary) {
    if (!other.is_garbage()) {
      read_tile(running, other, mode.is_b_transposed, other_);
      kernels_.pack(other_.data(), other_packed_.data(), dim_);
      multiply(a, mode.is_a_transposed, rows, other_packed_, sums_.data(), dim_, true);
      wrap(sums_);
    }
    write_result(mode, sums_);
    if (!result_->is_garbage()) held_.reset();
  } else if (other.is_garbage() && is_result_in_place(rows)) {
    multiply(a, mode.is_a_transposed, result_->rows, weights_, state_.acc_row(result_->row()),
             state_.strides->c_rows * dim_, result_->accumulates());
  } else {
    if (other.is_garbage()) {
      std::fill(products_.begin(), products_.end(), 0);
    } else {
      read_tile(running, other, false, other_);
      std::copy(other_.begin(), other_.end(), products_.begin());
    }
    multiply(a, mode.is_a_transposed, rows, weights_, products_.data(), dim_, true);
    if (may_products_wrap_) wrap(products_);
    write_result(mode, products_);
  }
  result_.reset();
}

void Array::multiply(const LocalOperand& a, bool is_transposed, int64_t rows,
                     const std::vector<int16_t>& b_packed, int32_t* c, int64_t c_stride,
                     bool accumulates) {
  if (rows == 0) return;
  const int64_t a_stride_rows = state_.strides->a_rows;
  if (a.cols == dim_ && !is_transposed) {
    kernels_.mac(state_.spad_row(a.row()), a_stride_rows * dim_, b_packed.data(), c, c_stride, rows,
                 dim_, accumulates);
  } else {
    copy_tile(a, a_stride_rows, is_transposed, a_);
    kernels_.mac(a_.data(), dim_, b_packed.data(), c, c_stride, rows, dim_, accumulates);
  }
}

bool Array::is_result_in_place(int64_t rows) const {
  return !result_->is_garbage() && result_->is_acc() && result_->cols == dim_ &&
         result_->rows > 0 && !may_products_wrap_ && result_->rows <= rows &&
         state_.strides->c_rows > 0;
}

// The lowest bits of each, with their sign.
void Array::wrap(std::vector<int32_t>& sums) const {
  const int unused_bits = 32 - output_bits_;
  for (int32_t& sum : sums) {
    sum = static_cast<int32_t>(static_cast<uint32_t>(sum) << unused_bits) >> unused_bits;
  }
}

void Array::write_result(const ExecuteMode& mode, const std::vector<int32_t>& result) {
  const LocalOperand to = *result_;
  if (to.is_garbage()) return;
  const int shift = mode.dataflow == Dataflow::kOutputStationary ? mode.shift : 0;
  for (int64_t i = 0; i < to.rows; ++i) {
    const int32_t* from = result.data() + i * dim_;
    const int64_t row = to.row() + i * state_.strides->c_rows;
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

}  // namespace npu::gemmini
