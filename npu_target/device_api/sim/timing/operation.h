// A command as the timing model's units want it: where it goes and what it moves.
#pragma once

#include "command.h"
#include "config.h"
#include "cycle.h"
#include "ports.h"

namespace npu::sim::timing {

// The three queues of the reservation station. kFront: the command ends before them.
enum class Queue : uint8_t { kLoad = 0, kExecute = 1, kStore = 2, kFront = 3 };
inline constexpr int kQueues = 3;

// Rows [start, end) of the scratchpad or, from kAccBase on, of the accumulator.
struct RowRange {
  static constexpr int64_t kAccBase = int64_t{1} << 32;

  bool is_valid = false;
  int64_t start = 0;
  int64_t end = 0;

  // The hardware's comparison (ReservationStation.scala, OpT.overlaps).
  bool overlaps(const RowRange& other) const {
    return is_valid && other.is_valid &&
           ((other.start <= start && start < other.end) ||
            (start <= other.start && other.start < end));
  }
};

// One MVIN.
struct LoadOperation {
  uint64_t dram_address;  // 0: zeros
  uint64_t stride_bytes;
  int64_t first_row;  // in the memory it goes to
  int64_t rows;
  int64_t cols;
  int64_t block_stride_rows;
  int64_t pixel_repeats;
  int64_t element_bytes;  // in DRAM
  bool is_acc;
  bool accumulates;
  bool is_scaled;
};

enum class ExecuteKind : uint8_t { kConfig, kPreload, kCompute };

// One operand of the array.
struct ArrayOperand {
  bool is_garbage = true;
  uint32_t address = 0;  // as encoded
  int64_t rows = 0;
  int64_t cols = 0;
  BankMask spad_banks = 0;  // 0: not read from the scratchpad
};

// One CONFIG_EX, PRELOAD or COMPUTE, with the configuration it runs under.
struct ExecuteOperation {
  ExecuteKind kind;
  bool is_weight_stationary;
  bool is_a_transposed;
  bool is_b_transposed;
  bool takes_preloaded;    // COMPUTE "preloaded"
  ArrayOperand first;      // rs1: PRELOAD B or D, COMPUTE A
  ArrayOperand second;     // COMPUTE D or B
  ArrayOperand result;     // PRELOAD: C, without banks
  BankMask acc_banks = 0;  // PRELOAD: the banks of C
  bool accumulates = false;
};

// One MVOUT.
struct StoreOperation {
  uint64_t dram_address;
  uint64_t stride_bytes;
  int64_t first_row;
  int64_t rows;
  int64_t cols;
  int64_t element_bytes;  // in DRAM
  bool is_acc;
  // Pooling, when pool_stride is not 0.
  int64_t pool_stride = 0;
  int64_t pool_window = 0;
  int64_t pool_upper_pad = 0;
  int64_t pool_left_pad = 0;
  int64_t pool_dram_row_pixels = 0;
  int64_t pool_out_rows = 0;
  int64_t pool_out_cols = 0;
  int64_t pool_in_rows = 0;
  int64_t pool_in_cols = 0;
};

struct Operation {
  Queue queue = Queue::kFront;
  bool is_config = false;
  // What the reservation station compares (its opa and opb).
  RowRange first;
  RowRange second;
  bool writes_first = false;
  LoadOperation load{};
  ExecuteOperation execute{};
  StoreOperation store{};
};

// Turns commands into operations.
//
// Policy: configuration takes effect in program order, which is the order of every queue, so each
// operation carries the values it runs under. Row ranges follow ReservationStation.scala, among
// them its shortcut that a pooling MVOUT reads from its start to the end of the bank.
// The caller has checked the commands; loop commands are not for this class.
class OperationDecoder {
 public:
  explicit OperationDecoder(const Config& config);

  // Fills the parts of `operation` that its queue uses.
  void decode(const Command& command, Operation& operation);

 private:
  struct LoadState {
    uint64_t stride_bytes = 0;
    int64_t block_stride_rows = 0;
    int64_t pixel_repeats = 1;
    bool is_shrunk = false;
    bool is_scaled = false;
  };

  void decode_config(const Command& command, Operation& operation);
  void decode_load(const Command& command, Operation& operation) const;
  void decode_execute(const Command& command, Operation& operation) const;
  void decode_store(const Command& command, Operation& operation) const;
  RowRange range(const LocalOperand& operand, int64_t rows) const;
  ArrayOperand array_operand(const LocalOperand& operand) const;

  const Config& config_;
  LoadState loads_[3];
  ExecuteOperation mode_{};
  int64_t a_stride_rows_ = 1;
  int64_t c_stride_rows_ = 1;
  StoreOperation store_{};
};

}  // namespace npu::sim::timing
