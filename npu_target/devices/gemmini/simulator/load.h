// MVIN, MVIN2 and MVIN3: from DRAM to the scratchpad or the accumulator.
#pragma once

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/fault.h"
#include "gemmini/simulator/state.h"
#include "sim/memory.h"

namespace npu::gemmini {

// Row r, column c of the tile goes to row `address + r + (c / dim) * block_stride`, column
// c % dim. DRAM address 0 stands for zeros.
void load(const RunningCommand& running, const Config& config, const sim::MemoryMap& dram,
          State& state);

}  // namespace npu::gemmini
