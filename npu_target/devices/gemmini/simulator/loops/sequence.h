// The commands of a loop one after another.
#pragma once

#include <optional>
#include <tuple>
#include <variant>

#include "gemmini/simulator/loops/conv_loads.h"
#include "gemmini/simulator/loops/conv_units.h"
#include "gemmini/simulator/loops/matmul_units.h"
#include "gemmini/simulator/loops/registers.h"

namespace npu::gemmini::loops {

// Policy: all commands of one unit, then those of the next: loads, computes, stores. The hardware
// interleaves the units, but keeps the order of everything in a loop that depends on each other, so
// the values are the same. Of two loops under way it does not: where that matters the second one is
// a race (races/loop_order.h).
class LoopSequence {
 public:
  // Of B, rows that do not exist are left out unless asked for (see AbsentRows).
  explicit LoopSequence(const Loop& loop, AbsentRows absent_rows = AbsentRows::kLeftOut);

  std::optional<Command> next();

 private:
  using Matmul = std::tuple<MatmulLoadD, MatmulLoadA, MatmulLoadB, MatmulExecute, MatmulStore>;
  using Conv = std::tuple<ConvLoadBias, ConvLoadWeights, ConvLoadInput, ConvExecute, ConvStore>;

  static std::variant<Matmul, Conv> units_of(const Loop& loop, AbsentRows absent_rows);

  std::variant<Matmul, Conv> units_;
};

}  // namespace npu::gemmini::loops
