// npu.sim.*: limits, statistics, and raw command streams for tests.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <cstring>
#include <string>
#include <vector>

#include "../sim/simulator.h"
#include "ffi_config.h"
#include "ffi_error.h"
#include "packed_commands.h"
#include "session.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

void set_max_cycles(int64_t max_cycles) {
  if (max_cycles < 0) {
    TVM_FFI_THROW(ValueError) << "npu.sim.set_limits: needs max_cycles of at least 0, has "
                              << max_cycles;
  }
  set_limits({static_cast<uint64_t>(max_cycles)});
}

// Fills an on-chip memory with given bytes; none leaves it as the simulator starts it.
template <typename T>
void initialize(std::vector<T>& memory, const ffi::Bytes& bytes, const char* name) {
  const size_t needed = memory.size() * sizeof(T);
  if (bytes.size() == 0) return;
  if (bytes.size() != needed) {
    throw sim::SimError(sim::ErrorKind::kBadProgram, -1,
                        std::string(name) + ": needs 0 or " + std::to_string(needed) + " B, has " +
                            std::to_string(bytes.size()));
  }
  std::memcpy(memory.data(), bytes.data(), needed);
}

template <typename T>
ffi::Bytes bytes_of(const std::vector<T>& memory) {
  return ffi::Bytes(reinterpret_cast<const char*>(memory.data()), memory.size() * sizeof(T));
}

// Runs packed commands over one writable region of DRAM. Returns the memories afterwards (DRAM,
// scratchpad, accumulator) and the statistics in JSON. Refuses races if asked to.
ffi::Array<ffi::Any> run_stream(const ffi::Map<ffi::String, int64_t>& fields,
                                const ffi::Bytes& commands, int64_t base, const ffi::Bytes& memory,
                                const ffi::Bytes& spad, const ffi::Bytes& acc, bool races) {
  return with_ffi_errors([&] {
    const sim::Config config = config_of(fields);
    std::vector<uint8_t> dram_bytes(memory.data(), memory.data() + memory.size());
    sim::MemoryMap dram;
    if (!dram_bytes.empty()) {
      dram.add({static_cast<uint64_t>(base), dram_bytes.size(), dram_bytes.data(),
                /*is_writable=*/true, "memory"});
    }
    sim::Simulator simulator(config, dram, current_limits(), stop_if_interrupted);
    if (races) simulator.check_races();
    initialize(simulator.state().spad, spad, "spad_init");
    initialize(simulator.state().acc, acc, "acc_init");
    const auto host_cycles = static_cast<uint32_t>(config.host_cycles_per_command);
    for (const sim::Command& command : unpack_commands({commands.data(), commands.size()})) {
      simulator.run(command, host_cycles);
    }
    simulator.finish();
    ffi::Array<ffi::Any> result;
    result.push_back(bytes_of(dram_bytes));
    result.push_back(bytes_of(simulator.state().spad));
    result.push_back(bytes_of(simulator.state().acc));
    result.push_back(ffi::String(stats_json("stream", simulator)));
    return result;
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("npu.sim.check_config",
           [](const ffi::Map<ffi::String, int64_t>& fields) {
             with_ffi_errors([&] { config_of(fields); });
           })
      .def("npu.sim.last_stats", [] { return ffi::String(last_stats()); })
      .def("npu.sim.set_limits", set_max_cycles)
      .def("npu.sim.set_race_checks", set_race_checks)
      .def("npu.sim.run_stream", run_stream);
}

}  // namespace npu
