// What outlives a launch: the simulated clock, the limits and the latest statistics.
#pragma once

#include <cstdint>
#include <string>

#include "sim/host_config.h"
#include "sim/simulator.h"

namespace npu {

// Simulated nanoseconds that launches of this thread have taken so far. A timer reads it before
// and after what it measures.
double simulated_clock_ns();

// What launches of this process keep to: the limit on cycles (0: none), and whether races are
// refused.
sim::RunOptions launch_options();
void set_max_cycles(uint64_t max_cycles);
void set_race_checks(bool enabled);

// Books a finished launch: advances this thread's clock and replaces the latest statistics.
void record_launch(const std::string& program_name, const sim::HostConfig& config,
                   const sim::Stats& stats);

// The statistics of a finished stream of commands as a JSON object.
std::string launch_json(const std::string& program_name, const sim::Stats& stats);

// Those of the latest launch in this process; "{}" before the first.
std::string last_stats();

}  // namespace npu
