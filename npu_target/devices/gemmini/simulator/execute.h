// PRELOAD and COMPUTE: the systolic array, in both dataflows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/fault.h"
#include "gemmini/simulator/mac.h"
#include "gemmini/simulator/state.h"

namespace npu::gemmini {

// Weight-stationary: PRELOAD takes B, COMPUTE takes A and D, C = A * B + D.
// Output-stationary: PRELOAD takes D, COMPUTE takes A and B, the array's own C += A * B.
// COMPUTE "preloaded" starts from what the last PRELOAD brought, "accumulated" from what the
// array holds. Inside of the array sums have array_output_bits and wrap around: those that it
// holds, and those that it sends to the memories, where they are added to more. Row and column
// counts are those of the matrices after transposition; what lies beyond them reads as zero.
//
// Policy (ExecuteController: `total_rows`): weight-stationary with nothing transposed, a run feeds
// the array as many rows as A and D have, four at least, unless a B comes in beside them; whether
// one does is for the queue to say. Commands whose values depend on that are refused.
class Array {
 public:
  Array(const Config& config, State& state);

  void preload(const RunningCommand& running);
  void compute(const RunningCommand& running);
  // Checks that no result waits for its COMPUTE: a CONFIG_EX empties the array, and zeros would be
  // written for it [ExecuteController].
  void check_done(const RunningCommand& running) const;

 private:
  const ExecuteMode& mode(const RunningCommand& running) const;
  // Checks that the array can read the tile, whose rows are `row_stride` apart.
  void check_tile(const RunningCommand& running, const LocalOperand& operand, int64_t row_stride,
                  bool is_transposed) const;
  // Checks a result of at least one row, with a C stride other than 1.
  void check_result_stride(const RunningCommand& running, const ExecuteMode& mode,
                           const LocalOperand& result) const;
  // Whether a run feeds the array all of its rows, whatever the operands have.
  bool takes_all_rows(const ExecuteMode& mode) const;
  // Checks that all rows of the result, which are more than those of A, are fed to the array.
  void check_rows_fed(const RunningCommand& running, const ExecuteMode& mode, const LocalOperand& a,
                      const LocalOperand& d) const;
  // Copies a checked tile of the scratchpad into `to`[dim][dim], transposed if asked. Everything
  // outside of the operand's rows and columns becomes 0.
  void copy_tile(const LocalOperand& operand, int64_t row_stride, bool is_transposed,
                 std::vector<int8_t>& to) const;
  void read_tile(const RunningCommand& running, const LocalOperand& operand, bool is_transposed,
                 std::vector<int8_t>& to) const;
  // C = A * B, or += with `accumulates`, of the first `rows` rows of A, which has been checked.
  void multiply(const LocalOperand& a, bool is_transposed, int64_t rows,
                const std::vector<int16_t>& b_packed, int32_t* c, int64_t c_stride,
                bool accumulates);
  void flip(const RunningCommand& running, const ExecuteMode& mode);
  // Whether the result of so many rows can be worked out where it goes to.
  bool is_result_in_place(int64_t rows) const;
  void write_result(const ExecuteMode& mode, const std::vector<int32_t>& result);
  void wrap(std::vector<int32_t>& sums) const;

  const Config& config_;
  State& state_;
  const int64_t dim_;
  const int output_bits_;
  // Whether dim products and a D can be more than that.
  const bool may_products_wrap_;
  const ArrayKernels kernels_;

  // What the last PRELOAD brought, until a COMPUTE "preloaded" takes it over.
  std::vector<int8_t> preloaded_;
  bool is_preloaded_zero_ = true;
  // Where the next COMPUTE puts its result; none once a COMPUTE has used it.
  std::optional<LocalOperand> result_;

  // What the array holds, by dataflow: B as the kernels read it, or C. An output-stationary result
  // takes C out of it.
  std::optional<Dataflow> held_;
  std::vector<int16_t> weights_;
  std::vector<int32_t> sums_;

  std::vector<int8_t> a_;      // A of the running COMPUTE, where it is not as it lies in memory
  std::vector<int8_t> other_;  // its B or D
  std::vector<int16_t> other_packed_;
  std::vector<int32_t> products_;
};

}  // namespace npu::gemmini
