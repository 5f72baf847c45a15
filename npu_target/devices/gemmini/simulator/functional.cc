#include "gemmini/simulator/functional.h"

#include "gemmini/simulator/configure.h"
#include "gemmini/simulator/load.h"
#include "gemmini/simulator/store.h"

namespace npu::gemmini {

Functional::Functional(const Config& config, const sim::MemoryMap& dram)
    : config_(config), dram_(dram), state_(config), array_(config_, state_) {}

void Functional::run(const Command& command, int64_t index, const Command* loop) {
  const RunningCommand running{command, index, loop};
  switch (command.funct) {
    case kConfig:
      if (bits(command.rs1, 1, 0) == kConfigEx) array_.check_done(running);
      return configure(running, config_, state_);
    case kMvin:
    case kMvin2:
    case kMvin3:
      return load(running, config_, dram_, state_);
    case kMvout:
      return store(running, config_, dram_, state_);
    case kPreload:
      return array_.preload(running);
    case kComputePreloaded:
    case kComputeAccumulated:
      return array_.compute(running);
    case kFlush:    // empties the address translation cache, which holds no values
    case kCounter:  // performance counters see the values, they do not change them
      return;
    default:
      break;
  }
  running.fail(ErrorKind::kUnsupportedCommand,
               "needs the function code of a command, has " + std::to_string(command.funct));
}

}  // namespace npu::gemmini
