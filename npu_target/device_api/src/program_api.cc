// npu.program.*: program files seen from Python.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <string>
#include <vector>

#include "sim/host_demand.h"
#include "sim/program_run.h"
#include "src/ffi_error.h"
#include "src/packed_commands.h"
#include "src/simulators.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

// About 1.5 GiB of packed commands: beyond any kernel, and before the memory is gone.
constexpr uint64_t kMaxCommands = uint64_t{1} << 26;

sim::Program parse(const ffi::Bytes& bytes) {
  return sim::Program::parse({bytes.data(), bytes.size()});
}

// The command stream for given argument addresses, as triples of little-endian uint64.
ffi::Bytes expand(const ffi::Bytes& bytes, const ffi::Array<int64_t>& addresses) {
  return with_ffi_errors([&] {
    const sim::Program program = parse(bytes);
    std::vector<uint64_t> bound;
    for (const int64_t address : addresses) bound.push_back(static_cast<uint64_t>(address));
    std::string packed;
    uint64_t commands = 0;
    sim::for_each_command(program, bound, {kMaxCommands, stop_if_interrupted},
                          [&](const sim::Command& command, uint32_t) {
                            if (++commands > kMaxCommands) {
                              throw sim::SimError(
                                  sim::ErrorKind::kTimedOut, static_cast<int64_t>(commands),
                                  "program '" + program.name + "': needs at most " +
                                      std::to_string(kMaxCommands) + " commands, has more");
                            }
                            append_command(packed, command);
                          });
    return ffi::Bytes(std::move(packed));
  });
}

// What a program asks of its device's host core: instructions, commands, bytes of code in loops,
// bytes of other code, and the cycles of the latter with a cold cache.
ffi::Array<int64_t> host_cost(const ffi::Bytes& bytes) {
  return with_ffi_errors([&] {
    const sim::Program program = parse(bytes);
    const sim::RunControl control{kMaxCommands, stop_if_interrupted};
    const sim::HostDemand demand = sim::HostDemandCounter(program, control).count();
    return ffi::Array<int64_t>{
        static_cast<int64_t>(demand.instructions), static_cast<int64_t>(demand.commands),
        static_cast<int64_t>(demand.loop_bytes), static_cast<int64_t>(demand.once_bytes),
        static_cast<int64_t>(demand.once_cycles)};
  });
}

void validate(const ffi::Bytes& bytes) {
  with_ffi_errors([&] { parse(bytes); });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("npu.program.expand", expand)
      .def("npu.program.host_cost", host_cost)
      .def("npu.program.validate", validate);
}

}  // namespace npu
