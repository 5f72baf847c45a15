// CONFIG_EX, CONFIG_LD and CONFIG_ST: from register fields to the device's state.
#pragma once

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/fault.h"
#include "gemmini/simulator/state.h"

namespace npu::gemmini {

// Runs a CONFIG command. Throws SimError unsupported_command for what this device lacks.
void configure(const RunningCommand& running, const Config& config, State& state);

}  // namespace npu::gemmini
