// Results that the array adds to the accumulator right behind others.
#pragma once

#include <cstdint>

#include "gemmini/simulator/timing/operation.h"
#include "gemmini/simulator/timing/rows_fed.h"

namespace npu::gemmini::races {

// Policy (AccumulatorMem.scala, `io.write.ready`): the accumulator is at writing a row for two
// cycles, and drops what comes to be added to that row by then; the array does not wait for it
// (ExecuteController.scala, "write to AccumulatorMem was skipped"). Rows come out of the array one
// a cycle, from the first on or, output-stationary, from the last; results of commands that need
// not wait follow each other without a gap. So it is the last two rows of one result, where the run
// of its COMPUTE had no more, that meet the first two of the next.
class ConsecutiveSums {
 public:
  explicit ConsecutiveSums(int64_t dim) : dim_(dim) {}

  // The array runs empty.
  void clear() { before_.rows = 0; }

  // A PRELOAD comes. Returns whether its result adds to a row of that before which may still be
  // under way.
  bool preload(const timing::Operation& preload) {
    const timing::ExecuteOperation& execute = preload.execute;
    // No bank: no rows in the accumulator.
    next_.rows = execute.acc_banks == 0 ? 0 : execute.second.rows();
    next_.start = preload.first.start;
    next_.end = preload.first.end;
    if (!execute.accumulates || before_.rows == 0 || next_.rows == 0) return false;
    // Mostly it is the same rows again, or others.
    const bool is_apart = next_.start >= before_.end || next_.end <= before_.start;
    if (next_.end != next_.start && (is_apart || next_.start == before_.start)) return false;
    return execute.mode.is_weight_stationary ? meets_last_rows(preload) : meets_first_rows();
  }
  void compute(const timing::Operation& compute) {
    before_ = next_;
    if (before_.rows != 0) fed_ = timing::rows_fed(&compute.execute, nullptr, dim_);
  }

 private:
  struct Result {
    int64_t rows = 0;  // 0: none that matters
    int64_t start = 0;
    int64_t end = 0;
  };

  // Its first row is one of the last two.
  [[gnu::noinline]] bool meets_last_rows(const timing::Operation& preload) const {
    // The stride is that of both: to change it the array runs empty.
    const int64_t stride = (next_.end - next_.start) / next_.rows;
    const int64_t last = (preload.execute.first.is_garbage() ? fed_ : dim_) - 1;
    const int64_t offset = next_.start - before_.start;
    return (before_.rows > last && offset == last * stride) ||
           (before_.rows > last - 1 && offset == (last - 1) * stride);
  }
  // From the last row on: the first row of that before is one of its last two.
  bool meets_first_rows() const {
    const int64_t offset = before_.start - next_.start;
    return (next_.rows > dim_ - 1 && offset == dim_ - 1) ||
           (next_.rows > dim_ - 2 && offset == dim_ - 2);
  }

  const int64_t dim_;
  Result before_;    // of the pair before
  int64_t fed_ = 0;  // rows of its COMPUTE's run, with no B beside it
  Result next_;      // of the PRELOAD whose COMPUTE has not come
};

}  // namespace npu::gemmini::races
