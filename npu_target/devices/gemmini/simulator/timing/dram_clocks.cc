#include "gemmini/simulator/timing/dram_clocks.h"

#include <algorithm>

namespace npu::gemmini::timing {
namespace {

// No device is so slow; and sums of so many do not overflow.
constexpr double kMostTicks = 1e12;

}  // namespace

Ticks dram_clocks(const Config& config, int64_t count) {
  const double ticks = static_cast<double>(count) * static_cast<double>(config.clock_khz) *
                       kTicksPerCycle / static_cast<double>(config.dram_clock_khz);
  return static_cast<Ticks>(std::min(ticks, kMostTicks) + 0.5);
}

}  // namespace npu::gemmini::timing
