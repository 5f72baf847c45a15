#include "operation.h"

#include <algorithm>

namespace npu::sim::timing {
namespace {

// The bits of float32 1.0: the scale the load path passes through without its multipliers.
constexpr uint64_t kScaleOne = 0x3F800000;

BankMask bank_of(int64_t row, int64_t bank_rows, int64_t banks) {
  return BankMask{1} << std::min(row / bank_rows, banks - 1);
}

}  // namespace

OperationDecoder::OperationDecoder(const Config& config) : config_(config) {
  mode_.is_weight_stationary = true;
}

void OperationDecoder::decode(const Command& command, Operation& operation) {
  operation.is_config = false;
  operation.writes_first = false;
  operation.second.is_valid = false;
  switch (command.funct) {
    case kConfig:
      decode_config(command, operation);
      return;
    case kMvin:
    case kMvin2:
    case kMvin3:
      operation.queue = Queue::kLoad;
      decode_load(command, operation);
      return;
    case kPreload:
    case kComputePreloaded:
    case kComputeAccumulated:
      operation.queue = Queue::kExecute;
      decode_execute(command, operation);
      return;
    case kMvout:
      operation.queue = Queue::kStore;
      decode_store(command, operation);
      return;
    default:
      operation.queue = Queue::kFront;  // FLUSH, counters
  }
}

void OperationDecoder::decode_config(const Command& command, Operation& operation) {
  const uint64_t rs1 = command.rs1;
  const uint64_t rs2 = command.rs2;
  operation.is_config = true;
  operation.first.is_valid = false;
  switch (bits(rs1, 1, 0)) {
    case kConfigEx:
      operation.queue = Queue::kExecute;
      operation.execute.kind = ExecuteKind::kConfig;
      if (!bit(rs1, 7)) {
        mode_.is_weight_stationary = bit(rs1, 2);
        mode_.is_a_transposed = bit(rs1, 8);
        mode_.is_b_transposed = bit(rs1, 9);
      }
      a_stride_rows_ = static_cast<int64_t>(bits(rs1, 31, 16));
      c_stride_rows_ = static_cast<int64_t>(bits(rs2, 63, 48));
      return;
    case kConfigLd: {
      operation.queue = Queue::kLoad;
      LoadState& state = loads_[std::min<uint64_t>(bits(rs1, 4, 3), 2)];
      state.is_shrunk = bit(rs1, 2);
      state.pixel_repeats = std::max<int64_t>(1, static_cast<int64_t>(bits(rs1, 15, 8)));
      state.block_stride_rows = static_cast<int64_t>(bits(rs1, 31, 16));
      state.is_scaled = config_.has_mvin_scale != 0 && bits(rs1, 63, 32) != kScaleOne;
      state.stride_bytes = rs2;
      return;
    }
    default:
      operation.queue = Queue::kStore;
      if (bits(rs1, 1, 0) != kConfigSt) return;
      store_.stride_bytes = bits(rs2, 31, 0);
      store_.pool_stride = config_.has_pooling ? static_cast<int64_t>(bits(rs1, 5, 4)) : 0;
      store_.pool_window = static_cast<int64_t>(bits(rs1, 7, 6));
      store_.pool_upper_pad = static_cast<int64_t>(bits(rs1, 9, 8));
      store_.pool_left_pad = static_cast<int64_t>(bits(rs1, 11, 10));
      store_.pool_dram_row_pixels = static_cast<int64_t>(bits(rs1, 31, 24));
      store_.pool_out_rows = static_cast<int64_t>(bits(rs1, 39, 32));
      store_.pool_out_cols = static_cast<int64_t>(bits(rs1, 47, 40));
      store_.pool_in_rows = static_cast<int64_t>(bits(rs1, 55, 48));
      store_.pool_in_cols = static_cast<int64_t>(bits(rs1, 63, 56));
  }
}

void OperationDecoder::decode_load(const Command& command, Operation& operation) const {
  const LoadState& state = loads_[load_id(command.funct)];
  const LocalOperand to(command.rs2);
  LoadOperation& load = operation.load;
  load.dram_address = command.rs1;
  load.stride_bytes = state.stride_bytes;
  load.first_row = to.row();
  load.rows = to.rows;
  load.cols = to.cols;
  load.block_stride_rows = state.block_stride_rows;
  load.is_acc = to.is_acc();
  load.accumulates = to.is_acc() && to.accumulates();
  load.pixel_repeats = to.is_acc() ? 1 : state.pixel_repeats;
  load.element_bytes = to.is_acc() && !state.is_shrunk ? 4 : 1;
  load.is_scaled = state.is_scaled && load.element_bytes == 1;

  const int64_t blocks = ceil_div(to.cols, config_.dim);
  operation.first = range(to, (blocks - 1) * state.block_stride_rows + to.rows);
  if (!to.is_acc()) {
    // Repeats are written to rows before the operand's; the scratchpad's halves do not mix.
    const int64_t half = to.row() > config_.spad_rows() / 2 ? config_.spad_rows() / 2 : 0;
    operation.first.start = std::max(half, operation.first.start - (load.pixel_repeats - 1));
  }
  operation.writes_first = true;
}

void OperationDecoder::decode_execute(const Command& command, Operation& operation) const {
  const LocalOperand first(command.rs1);
  const LocalOperand second(command.rs2);
  ExecuteOperation& execute = operation.execute;
  execute = mode_;
  execute.first = array_operand(first);
  if (command.funct == kPreload) {
    execute.kind = ExecuteKind::kPreload;
    execute.result = array_operand(second);
    if (!second.is_garbage() && second.is_acc()) {
      execute.acc_banks = bank_of(second.row(), config_.acc_bank_rows, config_.acc_banks);
      execute.accumulates = second.accumulates();
    }
    operation.first = range(second, second.rows * c_stride_rows_);
    operation.second = range(first, first.rows);
    operation.writes_first = true;
  } else {
    execute.kind = ExecuteKind::kCompute;
    execute.takes_preloaded = command.funct == kComputePreloaded;
    execute.second = array_operand(second);
    const int64_t a_rows = mode_.is_a_transposed ? first.cols : first.rows;
    operation.first = range(first, a_rows * a_stride_rows_);
    operation.second = range(second, second.rows);
  }
}

void OperationDecoder::decode_store(const Command& command, Operation& operation) const {
  const LocalOperand from(command.rs2);
  StoreOperation& store = operation.store;
  store = store_;
  store.dram_address = command.rs1;
  store.first_row = from.row();
  store.rows = from.rows;
  store.cols = from.cols;
  store.is_acc = from.is_acc();
  store.element_bytes = from.is_acc() && from.is_full_width() ? 4 : 1;
  if (store.pool_stride != 0) {
    operation.first = range(from, 0);
    operation.first.end =
        RowRange::kAccBase + (from.row() / config_.acc_bank_rows + 1) * config_.acc_bank_rows;
  } else {
    const int64_t blocks = ceil_div(from.cols, config_.dim);
    operation.first = range(from, (blocks - 1) * config_.dim + from.rows);
  }
}

RowRange OperationDecoder::range(const LocalOperand& operand, int64_t rows) const {
  if (operand.is_garbage()) return {};
  const int64_t start = operand.row() + (operand.is_acc() ? RowRange::kAccBase : 0);
  return {true, start, start + rows};
}

ArrayOperand OperationDecoder::array_operand(const LocalOperand& operand) const {
  ArrayOperand result;
  result.is_garbage = operand.is_garbage();
  result.address = operand.address;
  result.rows = operand.rows;
  result.cols = operand.cols;
  if (!operand.is_garbage() && !operand.is_acc()) {
    result.spad_banks = bank_of(operand.row(), config_.spad_bank_rows, config_.spad_banks);
  }
  return result;
}

}  // namespace npu::sim::timing
