#include "gemmini/simulator/timing/operation_decoder.h"

#include <algorithm>

namespace npu::gemmini::timing {
namespace {

// The bits of float32 1.0: the scale the load path passes through without its multipliers.
constexpr uint64_t kScaleOne = 0x3F800000;

}  // namespace

OperationDecoder::OperationDecoder(const Config& config)
    : rows_(config),
      has_mvin_scale_(config.has_mvin_scale != 0),
      has_pooling_(config.has_pooling != 0),
      spad_half_rows_(config.spad_rows() / 2),
      dim_("dim", config.dim),
      spad_bank_rows_("spad_bank_rows", config.spad_bank_rows),
      acc_bank_rows_("acc_bank_rows", config.acc_bank_rows) {}

Queue OperationDecoder::queue_of_config(const Command& command) {
  switch (bits(command.rs1, 1, 0)) {
    case kConfigEx:
      return Queue::kExecute;
    case kConfigLd:
      return Queue::kLoad;
    default:
      return Queue::kStore;
  }
}

void OperationDecoder::decode_config(const Command& command, Operation& operation) {
  operation.writes_first = false;
  operation.first = {};
  operation.second = {};
  operation.parts = 0;
  const uint64_t rs1 = command.rs1;
  const uint64_t rs2 = command.rs2;
  switch (bits(rs1, 1, 0)) {
    case kConfigEx:
      operation.execute.kind = ExecuteKind::kConfig;
      if (!bit(rs1, 7)) {
        mode_.is_weight_stationary = bit(rs1, 2);
        mode_.is_a_transposed = bit(rs1, 8);
        mode_.is_b_transposed = bit(rs1, 9);
        mode_.takes_all_rows =
            !mode_.is_weight_stationary || mode_.is_a_transposed || mode_.is_b_transposed;
      }
      a_stride_rows_ = field(rs1, 31, 16);
      c_stride_rows_ = field(rs2, 63, 48);
      return;
    case kConfigLd: {
      LoadState& state = loads_[std::min<uint64_t>(bits(rs1, 4, 3), 2)];
      state.is_shrunk = bit(rs1, 2);
      state.pixel_repeats = std::max<int64_t>(1, field(rs1, 15, 8));
      state.block_stride_rows = field(rs1, 31, 16);
      state.is_scaled = has_mvin_scale_ && bits(rs1, 63, 32) != kScaleOne;
      state.stride_bytes = rs2;
      return;
    }
    default:
      if (bits(rs1, 1, 0) != kConfigSt) return;
      store_.stride_bytes = bits(rs2, 31, 0);
      store_.pool_stride = has_pooling_ ? field(rs1, 5, 4) : 0;
      store_.pool_window = field(rs1, 7, 6);
      store_.pool_upper_pad = field(rs1, 9, 8);
      store_.pool_left_pad = field(rs1, 11, 10);
      store_.pool_dram_row_pixels = field(rs1, 31, 24);
      store_.pool_out_rows = field(rs1, 39, 32);
      store_.pool_out_cols = field(rs1, 47, 40);
      store_.pool_in_rows = field(rs1, 55, 48);
      store_.pool_in_cols = field(rs1, 63, 56);
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

  const int64_t blocks = dim_.divide_up(to.cols);
  operation.first = range(to, (blocks - 1) * state.block_stride_rows + to.rows);
  if (!to.is_acc()) {
    // Repeats are written to rows before the operand's; the scratchpad's halves do not mix.
    const int64_t half = to.row() > spad_half_rows_ ? spad_half_rows_ : 0;
    operation.first.start = std::max(half, operation.first.start - (load.pixel_repeats - 1));
  }
  operation.second = {};
  operation.parts = rows_.parts_of(operation.first, to.is_acc());
  operation.writes_first = true;
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
        RowRange::kAccBase + (acc_bank_rows_.divide(from.row()) + 1) * acc_bank_rows_.value();
  } else {
    const int64_t blocks = dim_.divide_up(from.cols);
    operation.first = range(from, (blocks - 1) * dim_.value() + from.rows);
  }
  operation.second = {};
  operation.parts = rows_.parts_of(operation.first, from.is_acc());
  operation.writes_first = false;
}

}  // namespace npu::gemmini::timing
