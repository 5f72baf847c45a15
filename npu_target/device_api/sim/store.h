// MVOUT: from the scratchpad or the accumulator to DRAM, with scaling, activation and pooling.
#pragma once

#include "config.h"
#include "fault.h"
#include "memory.h"
#include "state.h"

namespace npu::sim {

// Columns past `dim` come from `dim` rows further on. With pooling, the operand's rows are those
// CONFIG_ST states and its own row count is not used.
void store(const RunningCommand& running, const Config& config, const MemoryMap& dram,
           State& state);

}  // namespace npu::sim
