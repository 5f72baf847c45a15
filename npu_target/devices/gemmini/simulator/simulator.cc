#include "gemmini/simulator/simulator.h"

#include <utility>

#include "gemmini/simulator/loops/sequence.h"

namespace npu::gemmini {
namespace {

constexpr int64_t kCommandsPerPoll = 1 << 14;

}  // namespace

Simulator::Simulator(const Config& config, const sim::MemoryMap& dram, sim::RunOptions options)
    : SimulatorOf(std::move(options)),
      config_(config),
      functional_(config_, dram),
      loops_(config_),
      timing_(config_) {
  if (this->options().checks_races) timing_.check_races(&races_.emplace(config_));
}

void Simulator::issue(const Command& command, uint32_t host_cycles) {
  if (is_loop_command(command.funct)) {
    run_loop_command(command);
  } else {
    functional_.run(command, commands_);
  }
  timing_.issue(command, host_cycles);
  ++commands_;
  check_limit(commands_, timing_.elapsed());
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
  if (options().poll && ++simple_commands_ % kCommandsPerPoll == 0) options().poll();
}

uint64_t Simulator::finish() {
  const uint64_t cycles = timing_.finish();
  if (recording_) recording_->flush();
  check_limit(commands_, cycles);
  return cycles;
}

std::vector<sim::DeviceMemory> Simulator::memories() {
  State& state = functional_.state();
  return {{"spad", reinterpret_cast<uint8_t*>(state.spad.data()), state.spad.size()},
          {"acc", reinterpret_cast<uint8_t*>(state.acc.data()),
           state.acc.size() * sizeof(state.acc[0])}};
}

void Simulator::continue_stream() {
  if (config_.has_weight_stationary == 0) return;
  constexpr uint64_t kWeightStationary = uint64_t{1} << 2;
  constexpr uint64_t kUnitStride = uint64_t{1} << 16;
  constexpr uint64_t kGarbage = 0xFFFFFFFF;
  constexpr uint64_t kNoRows = 0;  // a B of zeros
  const uint64_t tile =
      static_cast<uint64_t>(config_.dim) << 48 | static_cast<uint64_t>(config_.dim) << 32;
  functional_.run({kConfig, kConfigEx | kWeightStationary | kUnitStride, uint64_t{1} << 48}, -1);
  functional_.run({kPreload, kNoRows, tile | kGarbage}, -1);
  functional_.run({kComputePreloaded, tile, tile | kGarbage}, -1);
}

void Simulator::record(sim::Recording recording) {
  recording_ = std::make_unique<Recording>(std::move(recording));
  recording_->recorder().set_origin(timing::kNever);
  timing_.record(&recording_->recorder());
}

void Simulator::begin_recording() { recording_->recorder().set_origin(timing_.stats().cycles); }

sim::Profile Simulator::profile() const { return recording_->profile(); }

}  // namespace npu::gemmini
