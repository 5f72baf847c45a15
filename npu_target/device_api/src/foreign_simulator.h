// A device that a package simulates: a global function of TVM's FFI takes its commands.
#pragma once

#include <tvm/ffi/function.h>

#include <cstdint>
#include <string>

#include "sim/memory.h"
#include "sim/simulator.h"
#include "src/ffi_numbers.h"

namespace npu {

// The function is called at every fence, with
//   Map<String, int64> numbers of the device
//   Bytes commands since the fence before: little-endian uint64, host cycles, funct and two words
//     each
//   Array<Array<int64>> DRAM: address, host address, bytes, whether it may be written
//   Map<String, int64> values, races (0 or 1: to be computed, to be refused), max_cycles (0: no
//     limit)
// and returns Map<String, int64>: "cycles" from the fence before to this one, the host's included;
// of "macs", "bytes_loaded", "bytes_stored" and "host_stall_cycles" what it counts; what else it
// counts under names of its own. It throws RuntimeError "NpuDeviceError [kind] ..." where the
// device would not do what it is told.
class ForeignSimulator final : public sim::SimulatorOf<ForeignSimulator> {
 public:
  ForeignSimulator(std::string name, tvm::ffi::Function simulate, const sim::ConfigPairs& numbers,
                   const sim::MemoryMap& dram, sim::RunOptions options);

  void issue(const sim::Command& command, uint32_t host_cycles) final;
  // What it throws is what the function threw, beside LimitError.
  uint64_t finish() final;
  sim::Stats stats() const final { return stats_; }

 private:
  void add(const std::string& name, int64_t value);

  const std::string name_;
  const tvm::ffi::Function simulate_;
  const FfiNumbers numbers_;
  const sim::MemoryMap& dram_;
  std::string commands_;  // since the last fence
  int64_t command_count_ = 0;
  sim::Stats stats_;
};

}  // namespace npu
