// npu.sim.program_cycles and npu.sim.sequence_cycles: how long programs take and whether they race,
// without what they compute.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sim/host_core.h"
#include "src/ffi_bytes.h"
#include "src/ffi_error.h"
#include "src/ffi_numbers.h"
#include "src/launch.h"
#include "src/simulators.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

constexpr int64_t kPastTheLimit = -1;

// The cycles of one run with cold caches, on a device with these numbers, or on the program's own
// when there are none; -1 past `max_cycles` (0: no limit).
int64_t program_cycles(const ffi::Bytes& file, int64_t max_cycles, const FfiNumbers& numbers) {
  return with_ffi_errors([&]() -> int64_t {
    sim::Program program = sim::Program::parse(view(file));
    put_on(numbers, program);
    sim::RunOptions options;
    options.max_cycles = static_cast<uint64_t>(max_cycles);
    options.computes_values = false;
    options.checks_races = true;
    options.poll = stop_if_interrupted;
    const std::vector<uint64_t> addresses = addresses_of(program);
    sim::MemoryMap constants;  // which may say what rows commands touch
    add_constants(program, addresses, constants);
    const auto simulator = make_simulator(program.kind, program.numbers, constants, options);
    sim::HostCore host(program.host);
    try {
      simulator->run(program, addresses, host);
      return static_cast<int64_t>(simulator->finish());
    } catch (const sim::LimitError&) {
      return kPastTheLimit;
    }
  });
}

// The cycles of each program, from a fence to a fence, when they run one after another on one
// device that begins with cold caches; `addresses` are those of each one's arguments. A kernel of a
// network is called from afar: its code is fetched anew.
ffi::Array<int64_t> sequence_cycles(const ffi::Array<ffi::Bytes>& files,
                                    const ffi::Array<ffi::Array<int64_t>>& addresses) {
  return with_ffi_errors([&] {
    ffi::Array<int64_t> cycles;
    std::vector<sim::Program> programs;
    for (const ffi::Bytes& file : files) {
      programs.push_back(sim::Program::parse(view(file)));
    }
    if (addresses.size() != programs.size()) {
      throw sim::SimError(sim::ErrorKind::kBadProgram, -1,
                          "a sequence: needs addresses for each program");
    }
    if (programs.empty()) return cycles;
    sim::RunOptions options;
    options.computes_values = false;
    options.checks_races = true;
    options.poll = stop_if_interrupted;
    const sim::MemoryMap no_dram;
    const sim::Program& first = programs.front();
    const auto simulator = make_simulator(first.kind, first.numbers, no_dram, options);
    uint64_t before = 0;
    for (size_t i = 0; i < programs.size(); ++i) {
      if (programs[i].kind != first.kind || programs[i].numbers != first.numbers) {
        throw sim::SimError(sim::ErrorKind::kBadProgram, -1,
                            "a sequence: needs programs of one device");
      }
      const ffi::Array<int64_t>& given = addresses[static_cast<int64_t>(i)];
      const std::vector<uint64_t> places(given.begin(), given.end());
      sim::HostCore host(programs[i].host);
      simulator->run(programs[i], places, host);
      const uint64_t now = simulator->finish();
      cycles.push_back(static_cast<int64_t>(now - before));
      before = now;
    }
    return cycles;
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("npu.sim.program_cycles", program_cycles)
      .def("npu.sim.sequence_cycles", sequence_cycles);
}

}  // namespace npu
