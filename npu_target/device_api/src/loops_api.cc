// npu.sim.expand_loops: what the hardware's loop commands come to.
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <optional>
#include <string>

#include "../sim/loops/sequence.h"
#include "ffi_config.h"
#include "ffi_error.h"
#include "packed_commands.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

// Packed commands with every loop replaced by its simple commands, unit by unit, as the hardware
// issues them. Commands that only configure loops are gone.
ffi::Bytes expand_loops(const ffi::Map<ffi::String, int64_t>& fields, const ffi::Bytes& commands) {
  return with_ffi_errors([&] {
    const sim::Config config = config_of(fields);
    sim::loops::LoopRegisters registers(config);
    std::string expanded;
    int64_t index = 0;
    for (const sim::Command& command : unpack_commands({commands.data(), commands.size()})) {
      if (!sim::is_loop_command(command.funct)) {
        append_command(expanded, command);
      } else if (const auto loop = registers.take({command, index})) {
        sim::loops::LoopSequence sequence(*loop, sim::loops::AbsentRows::kLoaded);
        while (const auto simple = sequence.next()) append_command(expanded, *simple);
      }
      ++index;
    }
    return ffi::Bytes(expanded);
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("npu.sim.expand_loops", expand_loops);
}

}  // namespace npu
