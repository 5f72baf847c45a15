#include "vta/simulator/simulator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "vta/simulator/functional.h"

namespace npu::vta {
namespace {

bool loads_micro_ops(const Command& command) {
  return command.is_transfer() && !command.is_tokens_only() && command.memory == kUop;
}

}  // namespace

Simulator::Simulator(const Config& config, const sim::MemoryMap& dram, sim::RunOptions options)
    : SimulatorOf(std::move(options)),
      config_(config),
      dram_(dram),
      buffers_(config_),
      races_(config_, buffers_),
      order_(config_),
      timing_(config_) {}

void Simulator::issue(const sim::Command& command, uint32_t host_cycles) {
  pending_.push_back({decode(command, commands_), commands_});
  ++commands_;
  cycles_ += host_cycles;
  check(pending_.back(), config_);
  if (pending_.back().command.opcode == kFinish) launch();
}

void Simulator::launch() {
  const auto run = [this](const IssuedCommand& issued) {
    if (options().poll) options().poll();
    const RunningCommand running = order_.run(issued);
    const bool looks_for_races = options().checks_races && knows_rows(issued);
    if (looks_for_races) races_.run(running);
    if (options().computes_values || (looks_for_races && loads_micro_ops(issued.command))) {
      vta::run(issued, config_, dram_, buffers_);
    }
  };
  cycles_ = timing_.run_launch(pending_, cycles_, run) + config_.host_launch_cycles;
  order_.finish(pending_.back());
  pending_.clear();
  check_limit(commands_, static_cast<uint64_t>(cycles_));
}

bool Simulator::knows_rows(const IssuedCommand& issued) {
  if (options().computes_values || !loads_micro_ops(issued.command)) return knows_rows_;
  const DramLines lines = dram_lines(issued, config_);
  for (int64_t y = 0; y < lines.lines && knows_rows_; ++y) {
    knows_rows_ = dram_.find(lines.address(y), lines.line_bytes, /*for_writing=*/false) != nullptr;
  }
  return knows_rows_;
}

uint64_t Simulator::finish() {
  if (!pending_.empty()) {
    pending_.back().fail(sim::ErrorKind::kDeadlock, "needs a finish behind it, has none");
  }
  return static_cast<uint64_t>(cycles_);
}

sim::Stats Simulator::stats() const {
  const Stats& done = timing_.stats();
  sim::Stats stats;
  stats.cycles = cycles_;
  stats.commands = commands_;
  stats.macs = done.gemm_steps * config_.batch() * config_.block_in() * config_.block_out();
  stats.bytes_loaded = done.read_bytes;
  stats.bytes_stored = done.written_bytes;
  stats.own = {{"alu_steps", done.alu_steps}, {"command_bytes", done.command_bytes}};
  for (const Engine engine : {kLoadEngine, kComputeEngine, kStoreEngine}) {
    const std::string name = engine_name(engine);
    stats.own.emplace_back(name + "_busy_cycles", done.busy_cycles[engine]);
    stats.own.emplace_back(name + "_token_wait_cycles", done.token_wait_cycles[engine]);
  }
  return stats;
}

std::vector<sim::DeviceMemory> Simulator::memories() {
  std::vector<sim::DeviceMemory> memories;
  buffers_.for_each([&](auto& buffer) {
    memories.push_back({buffer.name, reinterpret_cast<uint8_t*>(buffer.elements.data()),
                        buffer.elements.size() * sizeof(buffer.elements[0]), &buffer.is_defined});
  });
  return memories;
}

void Simulator::continue_stream() {
  buffers_.for_each([](auto& buffer) {
    std::fill(buffer.is_defined.begin(), buffer.is_defined.end(), uint8_t{1});
  });
}

}  // namespace npu::vta
