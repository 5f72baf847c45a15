// What the device holds: the two memories, and what the CONFIG commands have set.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/fault.h"

namespace npu::gemmini {

// CONFIG_LD of one id.
struct LoadConfig {
  float scale = 0;
  bool is_shrunk = false;         // int8 into the accumulator
  int64_t pixel_repeats = 1;      // at least 1
  int64_t block_stride_rows = 0;  // from one block of `dim` columns to the next
  uint64_t stride_bytes = 0;      // from one row in DRAM to the next
};

enum class Dataflow { kOutputStationary, kWeightStationary };

// CONFIG_EX without its strides, which have a form that sets them alone.
struct ExecuteMode {
  Dataflow dataflow = Dataflow::kWeightStationary;
  bool has_relu = false;
  bool is_a_transposed = false;
  bool is_b_transposed = false;
  int shift = 0;  // right shift of output-stationary results
};

struct ExecuteStrides {
  int64_t a_rows = 0;
  int64_t c_rows = 0;
};

struct PoolConfig {
  int64_t stride = 0;  // 0: no pooling
  int64_t window = 0;
  int64_t upper_pad = 0;
  int64_t left_pad = 0;
  int64_t dram_row_pixels = 0;  // pixels of one output row as it lies in DRAM
  int64_t out_rows = 0;
  int64_t out_cols = 0;
  int64_t in_rows = 0;
  int64_t in_cols = 0;
};

struct StoreConfig {
  bool has_relu = false;
  uint64_t stride_bytes = 0;
  PoolConfig pool;
};

struct State {
  explicit State(const Config& config);

  int8_t* spad_row(int64_t row) { return spad.data() + row * dim; }
  int32_t* acc_row(int64_t row) { return acc.data() + row * dim; }

  int64_t dim;
  std::vector<int8_t> spad;
  std::vector<int32_t> acc;

  // Nothing is defined before its CONFIG command.
  std::optional<LoadConfig> loads[3];
  std::optional<ExecuteMode> execute;
  std::optional<ExecuteStrides> strides;
  std::optional<StoreConfig> store;
  std::optional<float> store_scale;  // kept by a CONFIG_ST whose scale is all ones
};

// Throws what `check_rows` has found.
[[noreturn]] void fail_rows(const RunningCommand& running, const Config& config,
                            const LocalOperand& operand, int64_t count);

// Checks that `operand` is a scratchpad or accumulator address whose flags mean something, and
// that the memory has rows [row, row + count).
inline void check_rows(const RunningCommand& running, const Config& config,
                       const LocalOperand& operand, int64_t count) {
  const bool is_acc = operand.is_acc();
  const bool has_flags_of_acc = operand.accumulates() || operand.is_full_width();
  const int64_t rows = is_acc ? config.acc_rows() : config.spad_rows();
  if (operand.norm_command() != 0 || (has_flags_of_acc && !is_acc) ||
      operand.row() + count > rows) {
    fail_rows(running, config, operand, count);
  }
}

}  // namespace npu::gemmini
