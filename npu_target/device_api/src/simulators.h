// Simulators of all kinds of device: those of this library, and those that packages bring.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/device_kind.h"
#include "sim/memory.h"
#include "sim/program.h"
#include "sim/simulator.h"

namespace npu {

// A device of this kind and these numbers over `dram`, which has to outlive it. Throws SimError
// bad_program for numbers that it cannot have, and for a kind that neither this library has nor a
// global function `npu.simulator.<kind>` simulates (foreign_simulator.h).
std::unique_ptr<sim::Simulator> make_simulator(const std::string& kind,
                                               const sim::ConfigPairs& numbers,
                                               const sim::MemoryMap& dram, sim::RunOptions options);

// Throws SimError bad_program for numbers that no device of this kind can have; a kind that is not
// of this library has no more than the host's limits here.
void check_config(const std::string& kind, const sim::ConfigPairs& numbers);

// Where the arguments of a program lie in the memory that its device sees.
std::vector<uint64_t> addresses_of(const sim::Program& program);

}  // namespace npu
