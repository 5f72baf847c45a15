#include "simulator.h"

#include <string>
#include <utility>

#include "loops/sequence.h"
#include "program_run.h"

namespace npu::sim {
namespace {

constexpr int64_t kCommandsPerPoll = 1 << 14;

}  // namespace

Simulator::Simulator(const Config& config, const MemoryMap& dram, Limits limits,
                     std::function<void()> poll)
    : config_(config),
      limits_(limits),
      poll_(std::move(poll)),
      functional_(config_, dram),
      loops_(config_),
      timing_(config_),
      host_(config_) {}

void Simulator::run(const Command& command, uint32_t host_cycles) {
  if (is_loop_command(command.funct)) {
    run_loop_command(command);
  } else {
    functional_.run(command, commands_);
  }
  timing_.issue(command, host_cycles);
  ++commands_;
  check_limit(timing_.elapsed());
  count_work();
}

void Simulator::run_loop_command(const Command& command) {
  const std::optional<loops::Loop> loop = loops_.take({command, commands_});
  if (!loop) return;
  loops::LoopSequence sequence(*loop);
  while (const std::optional<Command> simple = sequence.next()) {
    functional_.run(*simple, commands_, &command);
    count_work();
  }
}

void Simulator::count_work() {
  if (poll_ && ++simple_commands_ % kCommandsPerPoll == 0) poll_();
}

void Simulator::run(const Program& program, const std::vector<uint64_t>& addresses) {
  for_each_command(
      program, addresses, {limits_.max_cycles, poll_}, host_,
      [this](const Command& command, uint32_t host_cycles) { run(command, host_cycles); });
}

uint64_t Simulator::finish() {
  const uint64_t cycles = timing_.finish();
  check_limit(cycles);
  return cycles;
}

void Simulator::clear_array() {
  if (config_.has_weight_stationary == 0) return;
  constexpr uint64_t kWeightStationary = uint64_t{1} << 2;
  constexpr uint64_t kUnitStride = uint64_t{1} << 16;
  constexpr uint64_t kGarbage = 0xFFFFFFFF;
  const uint64_t tile =
      static_cast<uint64_t>(config_.dim) << 48 | static_cast<uint64_t>(config_.dim) << 32;
  functional_.run({kConfig, kConfigEx | kWeightStationary | kUnitStride, uint64_t{1} << 48}, -1);
  functional_.run({kPreload, tile | kGarbage, tile | kGarbage}, -1);
  functional_.run({kComputePreloaded, tile, tile | kGarbage}, -1);
}

void Simulator::check_races() { timing_.check_races(&races_.emplace(config_)); }

void Simulator::check_limit(uint64_t cycles) const {
  if (limits_.max_cycles == 0 || cycles <= limits_.max_cycles) return;
  throw SimError(ErrorKind::kTimedOut, commands_,
                 "after " + std::to_string(commands_) + " commands: needs at most " +
                     std::to_string(limits_.max_cycles) + " cycles, has " + std::to_string(cycles));
}

}  // namespace npu::sim
