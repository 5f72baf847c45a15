// CONFIG_EX, CONFIG_LD and CONFIG_ST: from register fields to the device's state.
#pragma once

#include "config.h"
#include "fault.h"
#include "state.h"

namespace npu::sim {

// Runs a CONFIG command. Throws SimError unsupported_command for what this device lacks.
void configure(const RunningCommand& running, const Config& config, State& state);

}  // namespace npu::sim
