// npu.sim.program_cycles: how long a program takes and whether it races, without what it computes.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <cstdint>

#include "../sim/program_run.h"
#include "../sim/races/race_checker.h"
#include "../sim/timing/timing.h"
#include "ffi_error.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

// Asked for so many commands apart.
constexpr int64_t kCommandsPerCheck = 1 << 10;
constexpr int64_t kPastTheLimit = -1;

struct PastTheLimit {};

// The cycles of one run on a device with cold caches; -1 past `max_cycles` (0: no limit).
int64_t program_cycles(const ffi::Bytes& file, int64_t max_cycles) {
  return with_ffi_errors([&]() -> int64_t {
    const sim::Program program = sim::Program::parse({file.data(), file.size()});
    sim::timing::Timing timing(program.config);
    sim::races::RaceChecker races(program.config);
    timing.check_races(&races);
    const uint64_t limit = static_cast<uint64_t>(max_cycles);
    const auto is_past = [&](uint64_t cycles) { return limit != 0 && cycles > limit; };
    int64_t commands = 0;
    try {
      sim::for_each_command(
          program, program.default_addresses(), {0, stop_if_interrupted},
          [&](const sim::Command& command, uint32_t host_cycles) {
            timing.issue(command, host_cycles);
            if (++commands % kCommandsPerCheck == 0 && is_past(timing.elapsed())) {
              throw PastTheLimit();
            }
          });
    } catch (const PastTheLimit&) {
      return kPastTheLimit;
    }
    const uint64_t cycles = timing.finish();
    return is_past(cycles) ? kPastTheLimit : static_cast<int64_t>(cycles);
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("npu.sim.program_cycles", program_cycles);
}

}  // namespace npu
