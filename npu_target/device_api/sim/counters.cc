#include "counters.h"

namespace npu::sim {

void Counters::count(const Command& command) {
  ++commands;
  const LocalOperand local(command.rs2);
  switch (command.funct) {
    case kConfig:
      if (bits(command.rs1, 1, 0) == kConfigEx) {
        if (!bit(command.rs1, 7)) is_weight_stationary_ = bit(command.rs1, 2);
      } else if (bits(command.rs1, 1, 0) == kConfigLd) {
        is_load_shrunk_[bits(command.rs1, 4, 3)] = bit(command.rs1, 2);
      } else if (bits(command.rs1, 1, 0) == kConfigSt) {
        const bool is_pooled = bits(command.rs1, 5, 4) != 0;
        pooled_pixels_ = is_pooled ? bits(command.rs1, 39, 32) * bits(command.rs1, 47, 40) : 0;
      }
      return;
    case kMvin:
    case kMvin2:
    case kMvin3:
      if (command.rs1 != 0) {
        const bool is_int32 = local.is_acc() && !is_load_shrunk_[load_id(command.funct)];
        bytes_loaded += static_cast<uint64_t>(local.rows * local.cols * (is_int32 ? 4 : 1));
      }
      return;
    case kMvout:
      bytes_stored += store_bytes(local);
      return;
    case kPreload:
      result_cols_ = local.is_garbage() ? 0 : local.cols;
      return;
    case kComputePreloaded:
    case kComputeAccumulated: {
      const LocalOperand a(command.rs1);
      // Output-stationary, B is this command's and the result may come many computes later.
      const int64_t b_cols = is_weight_stationary_ ? result_cols_
                             : local.is_garbage()  ? 0
                                                   : local.cols;
      macs += static_cast<uint64_t>(a.rows * a.cols * b_cols);
      return;
    }
    default:
      return;
  }
}

uint64_t Counters::store_bytes(const LocalOperand& from) const {
  const uint64_t cols = static_cast<uint64_t>(from.cols);
  if (pooled_pixels_ != 0) return pooled_pixels_ * cols;
  const bool is_int32 = from.is_acc() && from.is_full_width();
  return static_cast<uint64_t>(from.rows) * cols * (is_int32 ? 4 : 1);
}

}  // namespace npu::sim
