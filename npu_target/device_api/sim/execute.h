// PRELOAD and COMPUTE: the systolic array, in both dataflows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config.h"
#include "fault.h"
#include "mac.h"
#include "state.h"

namespace npu::sim {

// Weight-stationary: PRELOAD takes B, COMPUTE takes A and D, C = A * B + D.
// Output-stationary: PRELOAD takes D, COMPUTE takes A and B, the array's own C += A * B.
// COMPUTE "preloaded" starts from what the last PRELOAD brought, "accumulated" from what the
// array holds. Row and column counts are those of the matrices after transposition; what lies
// beyond them reads as zero.
class Array {
 public:
  Array(const Config& config, State& state);

  void preload(const RunningCommand& running);
  void compute(const RunningCommand& running);

 private:
  const ExecuteMode& mode(const RunningCommand& running) const;
  // Copies a tile of the scratchpad into `to`[dim][dim], its rows `row_stride` apart, transposed
  // if asked. Everything outside of the operand's rows and columns becomes 0.
  void read_tile(const RunningCommand& running, const LocalOperand& operand, int64_t row_stride,
                 bool is_transposed, std::vector<int16_t>& to) const;
  void interleave(const std::vector<int16_t>& tile, std::vector<int16_t>& pairs) const;
  void widen(const std::vector<int16_t>& tile, std::vector<int32_t>& to) const;
  void flip(const RunningCommand& running, const ExecuteMode& mode);
  void write_result(const RunningCommand& running, const ExecuteMode& mode,
                    const std::vector<int32_t>& result);

  const Config& config_;
  State& state_;
  const int64_t dim_;
  const MacKernel mac_;

  // What the last PRELOAD brought, until a COMPUTE "preloaded" takes it over.
  std::vector<int16_t> preloaded_;
  bool is_preloaded_zero_ = true;
  // Where the next COMPUTE puts its result; none once a COMPUTE has used it.
  std::optional<LocalOperand> result_;

  // What the array holds, by dataflow: B as pairs, or C.
  std::optional<Dataflow> held_;
  std::vector<int16_t> weights_;
  std::vector<int32_t> sums_;

  std::vector<int16_t> a_;
  std::vector<int16_t> other_;  // B or D of the running COMPUTE
  std::vector<int16_t> other_pairs_;
  std::vector<int32_t> products_;
};

}  // namespace npu::sim
