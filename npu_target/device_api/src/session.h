// What outlives a launch: the simulated clock, the limits and the latest statistics.
#pragma once

#include <cstdint>
#include <string>

#include "../sim/simulator.h"

namespace npu {

// Simulated nanoseconds that launches of this thread have taken so far. A timer reads it before
// and after what it measures.
double simulated_clock_ns();

// The limits that launches of this process keep to.
sim::Limits current_limits();
void set_limits(sim::Limits limits);

// Whether launches of this process refuse races (races/race_checker.h).
bool checks_races();
void set_race_checks(bool enabled);

// Books a finished launch: advances this thread's clock and replaces the latest statistics.
void record_launch(const std::string& program_name, const sim::Config& config,
                   const sim::Simulator& simulator);

// The statistics of a finished stream of commands as a JSON object.
std::string stats_json(const std::string& program_name, const sim::Simulator& simulator);

// Those of the latest launch in this process; "{}" before the first.
std::string last_stats();

}  // namespace npu
