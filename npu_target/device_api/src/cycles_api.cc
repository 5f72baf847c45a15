// npu.sim.program_cycles: how long a program takes and whether it races, without what it computes.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <cstdint>

#include "sim/host_core.h"
#include "src/ffi_error.h"
#include "src/ffi_numbers.h"
#include "src/simulators.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

constexpr int64_t kPastTheLimit = -1;

// The cycles of one run with cold caches, on a device with these numbers, or on the program's own
// when there are none; -1 past `max_cycles` (0: no limit).
int64_t program_cycles(const ffi::Bytes& file, int64_t max_cycles, const FfiNumbers& numbers) {
  return with_ffi_errors([&]() -> int64_t {
    sim::Program program = sim::Program::parse({file.data(), file.size()});
    put_on(numbers, program);
    sim::RunOptions options;
    options.max_cycles = static_cast<uint64_t>(max_cycles);
    options.computes_values = false;
    options.checks_races = true;
    options.poll = stop_if_interrupted;
    const sim::MemoryMap no_dram;
    const auto simulator = make_simulator(program.kind, program.numbers, no_dram, options);
    sim::HostCore host(program.host);
    try {
      simulator->run(program, addresses_of(program), host);
      return static_cast<int64_t>(simulator->finish());
    } catch (const sim::LimitError&) {
      return kPastTheLimit;
    }
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("npu.sim.program_cycles", program_cycles);
}

}  // namespace npu
