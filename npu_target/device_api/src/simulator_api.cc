// npu.sim.*: limits, statistics, and raw command streams for tests.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "sim/host_config.h"
#include "src/ffi_bytes.h"
#include "src/ffi_error.h"
#include "src/ffi_numbers.h"
#include "src/packed_commands.h"
#include "src/session.h"
#include "src/simulators.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;
using FfiMemories = ffi::Map<ffi::String, ffi::Bytes>;

void set_limits(int64_t max_cycles) {
  if (max_cycles < 0) {
    TVM_FFI_THROW(ValueError) << "npu.sim.set_limits: needs max_cycles of at least 0, has "
                              << max_cycles;
  }
  set_max_cycles(static_cast<uint64_t>(max_cycles));
}

// Fills memories of the device with given bytes; the others stay as the simulator starts them.
void initialize(const std::vector<sim::DeviceMemory>& memories, const FfiMemories& given) {
  for (const auto& [name, bytes] : given) {
    const auto found =
        std::find_if(memories.begin(), memories.end(),
                     [&, &key = name](const auto& memory) { return memory.name == key; });
    const std::string start = "memory '" + std::string(name) + "': ";
    if (found == memories.end()) {
      throw sim::SimError(sim::ErrorKind::kBadProgram, -1,
                          start + "needs a memory of the device, has another name");
    }
    if (bytes.size() != found->bytes) {
      throw sim::SimError(sim::ErrorKind::kBadProgram, -1,
                          start + "needs " + std::to_string(found->bytes) + " B, has " +
                              std::to_string(bytes.size()));
    }
    std::memcpy(found->data, bytes.data(), bytes.size());
    if (found->is_defined != nullptr) {
      std::fill(found->is_defined->begin(), found->is_defined->end(), uint8_t{1});
    }
  }
}

// Runs packed commands on a device over one writable region of DRAM. Returns DRAM, the device's
// memories by name, and the statistics in JSON. Refuses races if asked to.
ffi::Array<ffi::Any> run_stream(const ffi::String& kind, const FfiNumbers& fields,
                                const ffi::Bytes& commands, int64_t base, const ffi::Bytes& memory,
                                const FfiMemories& memories, bool races) {
  return with_ffi_errors([&] {
    const sim::ConfigPairs numbers = pairs_of(fields);
    std::vector<uint8_t> dram_bytes(memory.data(), memory.data() + memory.size());
    sim::MemoryMap dram;
    if (!dram_bytes.empty()) {
      dram.add({static_cast<uint64_t>(base), dram_bytes.size(), dram_bytes.data(),
                /*is_writable=*/true, "memory"});
    }
    sim::RunOptions options = launch_options();
    options.checks_races = races;
    const auto simulator = make_simulator(kind, numbers, dram, options);
    initialize(simulator->memories(), memories);
    const auto host_cycles =
        static_cast<uint32_t>(sim::HostConfig::from_pairs(numbers).host_cycles_per_command);
    for (const sim::Command& command : unpack_commands(view(commands))) {
      simulator->issue(command, host_cycles);
    }
    simulator->finish();
    FfiMemories after;
    for (const sim::DeviceMemory& held : simulator->memories()) {
      after.Set(held.name, ffi::Bytes(reinterpret_cast<const char*>(held.data), held.bytes));
    }
    return ffi::Array<ffi::Any>{
        ffi::Bytes(reinterpret_cast<const char*>(dram_bytes.data()), dram_bytes.size()), after,
        ffi::String(launch_json("stream", simulator->stats()))};
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("npu.sim.check_config",
           [](const ffi::String& kind, const FfiNumbers& fields) {
             with_ffi_errors([&] { check_config(kind, pairs_of(fields)); });
           })
      .def("npu.sim.last_stats", [] { return ffi::String(last_stats()); })
      .def("npu.sim.set_limits", set_limits)
      .def("npu.sim.set_race_checks", set_race_checks)
      .def("npu.sim.run_stream", run_stream);
}

}  // namespace npu
