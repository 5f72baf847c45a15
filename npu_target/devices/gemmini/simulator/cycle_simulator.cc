#include "gemmini/simulator/cycle_simulator.h"

#include <utility>

namespace npu::gemmini {

CycleSimulator::CycleSimulator(const Config& config, sim::RunOptions options)
    : SimulatorOf(std::move(options)), timing_(config) {
  if (this->options().checks_races) timing_.check_races(&races_.emplace(config));
}

uint64_t CycleSimulator::finish() {
  const uint64_t cycles = timing_.finish();
  check_limit(timing_.commands(), cycles);
  return cycles;
}

}  // namespace npu::gemmini
