// npu.gemmini.expand_loops: what the hardware's loop commands come to.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <optional>
#include <string>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/loops/registers.h"
#include "gemmini/simulator/loops/sequence.h"
#include "src/ffi_bytes.h"
#include "src/ffi_error.h"
#include "src/ffi_numbers.h"
#include "src/packed_commands.h"

namespace npu::gemmini {
namespace {

namespace ffi = tvm::ffi;

// Packed commands with every loop replaced by its simple commands, unit by unit, as the hardware
// issues them. Commands that only configure loops are gone.
ffi::Bytes expand_loops(const FfiNumbers& fields, const ffi::Bytes& commands) {
  return with_ffi_errors([&] {
    const Config config = Config::from_pairs(pairs_of(fields));
    loops::LoopRegisters registers(config);
    std::string expanded;
    int64_t index = 0;
    for (const sim::Command& command : unpack_commands(view(commands))) {
      if (!is_loop_command(command.funct)) {
        append_command(expanded, command);
      } else if (const auto loop = registers.take({command, index})) {
        loops::LoopSequence sequence(*loop, loops::AbsentRows::kLoaded);
        while (const auto simple = sequence.next()) append_command(expanded, *simple);
      }
      ++index;
    }
    return ffi::Bytes(expanded);
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("npu.gemmini.expand_loops", expand_loops);
}

}  // namespace npu::gemmini
