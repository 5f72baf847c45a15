// A command as the timing model's units want it: where it goes and what it moves.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemmini/simulator/command.h"
#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/ports.h"
#include "gemmini/simulator/timing/row_range.h"

namespace npu::gemmini::timing {

// The three queues of the reservation station. kFront: the command ends before them.
enum class Queue : uint8_t { kLoad = 0, kExecute = 1, kStore = 2, kFront = 3 };
inline constexpr int kQueues = 3;

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
  uint64_t encoded;
  BankMask spad_banks;  // 0: not read from the scratchpad

  uint32_t address() const { return static_cast<uint32_t>(encoded); }
  int64_t rows() const { return field(encoded, 63, 48); }
  int64_t cols() const { return field(encoded, 47, 32); }
  bool is_garbage() const { return address() == 0xFFFFFFFFu; }
};

// What CONFIG_EX sets of the way the array runs.
struct ArrayMode {
  bool is_weight_stationary;
  bool is_a_transposed;
  bool is_b_transposed;
  // Whether a run takes `dim` rows whatever its operands have.
  bool takes_all_rows;
};

// One CONFIG_EX, PRELOAD or COMPUTE, with the mode it runs under.
struct ExecuteOperation {
  ExecuteKind kind;
  ArrayMode mode;
  bool accumulates;  // PRELOAD: C is added to what is there
  // Whether an operand lies where the scratchpad's banks do not say: it may be a result for the
  // accumulator.
  bool reads_elsewhere;
  ArrayOperand first;   // rs1: PRELOAD B or D, COMPUTE A
  ArrayOperand second;  // rs2: PRELOAD C, COMPUTE D or B
  BankMask acc_banks;   // PRELOAD: those of C
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
  int64_t pool_stride;
  int64_t pool_window;
  int64_t pool_upper_pad;
  int64_t pool_left_pad;
  int64_t pool_dram_row_pixels;
  int64_t pool_out_rows;
  int64_t pool_out_cols;
  int64_t pool_in_rows;
  int64_t pool_in_cols;

  // Calls `visit` with every row that the windows read, counted from the first.
  template <typename Visit>
  void for_each_pooled_row(Visit visit) const {
    for (int64_t y = 0; y < pool_out_rows * pool_window; ++y) {
      const int64_t row = y / pool_window * pool_stride + y % pool_window - pool_upper_pad;
      if (row < 0 || row >= pool_in_rows) continue;
      for (int64_t x = 0; x < pool_out_cols * pool_window; ++x) {
        const int64_t col = x / pool_window * pool_stride + x % pool_window - pool_left_pad;
        if (col >= 0 && col < pool_in_cols) visit(row * pool_in_cols + col);
      }
    }
  }
  // How many rows from the first on the windows reach.
  int64_t pooled_rows() const {
    const int64_t rows =
        std::min(pool_in_rows, (pool_out_rows - 1) * pool_stride + pool_window - pool_upper_pad);
    const int64_t cols =
        std::min(pool_in_cols, (pool_out_cols - 1) * pool_stride + pool_window - pool_left_pad);
    return rows < 1 || cols < 1 ? 0 : (rows - 1) * pool_in_cols + cols;
  }
};

struct Operation {
  Queue queue = Queue::kFront;
  bool is_config = false;
  // What the reservation station compares (its opa and opb).
  RowRange first;
  RowRange second;
  RowParts parts = 0;  // those of both
  bool writes_first = false;
  // That of its queue.
  union {
    LoadOperation load;
    ExecuteOperation execute;
    StoreOperation store{};
  };
};

}  // namespace npu::gemmini::timing
