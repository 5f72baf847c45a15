// The DRAM's clock.
#pragma once

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/cycle.h"

namespace npu::gemmini::timing {

// What so many of its clocks take.
Ticks dram_clocks(const Config& config, int64_t count);

}  // namespace npu::gemmini::timing
