// Time as the cycle model counts it.
#pragma once

#include <cstdint>
#include <limits>

namespace npu::gemmini::timing {

using Cycle = int64_t;

// Later than anything that happens: a time that is not known yet.
inline constexpr Cycle kNever = std::numeric_limits<Cycle>::max() / 2;
// Earlier than anything that happens.
inline constexpr Cycle kLongAgo = -kNever;

// Rates that are not whole cycles (bytes per cycle of a memory) are kept in ticks.
using Ticks = int64_t;
inline constexpr Ticks kTicksPerCycle = 1024;

constexpr Ticks to_ticks(Cycle cycle) { return cycle * kTicksPerCycle; }
// The cycle that `ticks`, which are not negative, are in.
constexpr Cycle cycle_of(Ticks ticks) {
  return static_cast<Cycle>(static_cast<uint64_t>(ticks) / kTicksPerCycle);
}
// The first whole cycle at or after `ticks`.
constexpr Cycle to_cycle(Ticks ticks) { return (ticks + kTicksPerCycle - 1) / kTicksPerCycle; }

constexpr int64_t ceil_div(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace npu::gemmini::timing
