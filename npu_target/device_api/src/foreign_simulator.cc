#include "src/foreign_simulator.h"

#include <tvm/ffi/container/array.h>

#include <algorithm>
#include <utility>

#include "src/packed_commands.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

ffi::Array<ffi::Array<int64_t>> ranges_of(const sim::MemoryMap& dram) {
  ffi::Array<ffi::Array<int64_t>> ranges;
  for (const sim::MemoryMap::Region& region : dram.regions()) {
    ranges.push_back({static_cast<int64_t>(region.address),
                      static_cast<int64_t>(reinterpret_cast<uintptr_t>(region.data)),
                      static_cast<int64_t>(region.bytes), int64_t{region.is_writable}});
  }
  return ranges;
}

}  // namespace

ForeignSimulator::ForeignSimulator(std::string name, ffi::Function simulate,
                                   const sim::ConfigPairs& numbers, const sim::MemoryMap& dram,
                                   sim::RunOptions options)
    : SimulatorOf(std::move(options)),
      name_(std::move(name)),
      simulate_(std::move(simulate)),
      numbers_(numbers_of(numbers)),
      dram_(dram) {}

void ForeignSimulator::issue(const sim::Command& command, uint32_t host_cycles) {
  if (++command_count_ > kMostPackedCommands) {
    throw sim::LimitError(
        command_count_,
        name_ + ": needs at most " + std::to_string(kMostPackedCommands) + " commands, has more");
  }
  append_issue(commands_, {host_cycles, command});
}

uint64_t ForeignSimulator::finish() {
  const FfiNumbers options = {
      {"values", this->options().computes_values},
      {"races", this->options().checks_races},
      {"max_cycles", static_cast<int64_t>(this->options().max_cycles)},
  };
  const ffi::Bytes commands(std::exchange(commands_, {}));
  const FfiNumbers result =
      simulate_(numbers_, commands, ranges_of(dram_), options).cast<FfiNumbers>();
  if (result.count("cycles") == 0) {
    TVM_FFI_THROW(ValueError) << name_ << ": needs to return cycles, has none";
  }
  for (const auto& [key, value] : result) add(std::string(key), value);
  stats_.commands = command_count_;
  check_limit(command_count_, static_cast<uint64_t>(stats_.cycles));
  return static_cast<uint64_t>(stats_.cycles);
}

void ForeignSimulator::add(const std::string& name, int64_t value) {
  const std::pair<const char*, int64_t*> common[] = {
      {"cycles", &stats_.cycles},
      {"macs", &stats_.macs},
      {"bytes_loaded", &stats_.bytes_loaded},
      {"bytes_stored", &stats_.bytes_stored},
      {"host_stall_cycles", &stats_.host_stall_cycles},
  };
  if (value < 0) {
    TVM_FFI_THROW(ValueError) << name_ << ": needs " << name << " of at least 0, has " << value;
  }
  for (const auto& [key, number] : common) {
    if (name == key) {
      *number += value;
      return;
    }
  }
  const auto known = std::find_if(stats_.own.begin(), stats_.own.end(),
                                  [&](const auto& number) { return number.first == name; });
  if (known != stats_.own.end()) {
    known->second += value;
  } else {
    stats_.own.emplace_back(name, value);
  }
}

}  // namespace npu
