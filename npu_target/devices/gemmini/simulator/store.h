// MVOUT: from the scratchpad or the accumulator to DRAM, with scaling, activation and pooling.
#pragma once

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/fault.h"
#include "gemmini/simulator/state.h"
#include "sim/memory.h"

namespace npu::gemmini {

// Columns past `dim` come from `dim` rows further on. With pooling, the operand's rows are those
// CONFIG_ST states and its own row count is not used.
void store(const RunningCommand& running, const Config& config, const sim::MemoryMap& dram,
           State& state);

}  // namespace npu::gemmini
