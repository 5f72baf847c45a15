#include "simulator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "program_run.h"

namespace npu::sim {
namespace {

constexpr uint64_t kCommandsPerPoll = 1 << 14;

}  // namespace

Simulator::Simulator(const Config& config, const MemoryMap& dram, Limits limits,
                     std::function<void()> poll)
    : config_(config),
      limits_(limits),
      poll_(std::move(poll)),
      functional_(config_, dram),
      timing_(config_) {}

void Simulator::run(const Command& command, uint32_t host_cycles) {
  functional_.run(command, static_cast<int64_t>(counters_.commands));
  timing_.issue(command, host_cycles);
  counters_.count(command);
  // The host issues at most one command a cycle.
  host_cycles_ += std::max<uint32_t>(host_cycles, 1);
  check_limit(host_cycles_);
  if (poll_ && counters_.commands % kCommandsPerPoll == 0) poll_();
}

void Simulator::run(const Program& program, const std::vector<uint64_t>& addresses) {
  for_each_command(
      program, addresses, limits_.max_cycles,
      [this](const Command& command, uint32_t host_cycles) { run(command, host_cycles); });
}

uint64_t Simulator::finish() {
  const uint64_t cycles = timing_.finish();
  check_limit(cycles);
  return cycles;
}

void Simulator::check_limit(uint64_t cycles) const {
  if (limits_.max_cycles == 0 || cycles <= limits_.max_cycles) return;
  throw SimError(ErrorKind::kTimedOut, static_cast<int64_t>(counters_.commands),
                 "after " + std::to_string(counters_.commands) + " commands: needs at most " +
                     std::to_string(limits_.max_cycles) + " cycles, has " + std::to_string(cycles));
}

}  // namespace npu::sim
