// MVIN, MVIN2 and MVIN3: from DRAM to the scratchpad or the accumulator.
#pragma once

#include "config.h"
#include "fault.h"
#include "memory.h"
#include "state.h"

namespace npu::sim {

// Row r, column c of the tile goes to row `address + r + (c / dim) * block_stride`, column
// c % dim. DRAM address 0 stands for zeros.
void load(const RunningCommand& running, const Config& config, const MemoryMap& dram, State& state);

}  // namespace npu::sim
