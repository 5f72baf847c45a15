// The host core and the device together, against measurements.
#include <cstdint>
#include <utility>

#include "sim/host_core.h"
#include "sim/program_run.h"
#include "timing/stream.h"

namespace npu::gemmini::testing {
namespace {

const Test measured("host core: 64 commands that load nothing take what was measured", [] {
  // From a fence to a fence on the hardware: 274 over DDR3, 186 over ideal memory, 78 when cached.
  // The simulated way to the queues is 3 cycles shorter, cached or not. No call was measured: the
  // jump of a program's is one more instruction before the 64, which fill 4 lines, and so takes a
  // fifth.
  const auto run = [](int64_t line_cycles) {
    sim::Program program;
    program.body.resize(64);  // commands
    program.host = sim::HostConfig::from_pairs(device_fields());
    program.host.host_icache_miss_cycles = line_cycles;
    sim::HostCore host(program.host);
    Timing timing(timing_device());
    std::pair<uint64_t, uint64_t> cycles;
    for (uint64_t* result : {&cycles.first, &cycles.second}) {
      const uint64_t start = timing.finish();
      sim::for_each_command(program, {}, {}, host, [&](const Command&, uint32_t of_command) {
        timing.issue(config_ld(64), of_command);
      });
      *result = timing.finish() - start;
    }
    return cycles;
  };
  constexpr uint64_t kJump = 1;
  CHECK_EQUAL(run(49).first, 274u - 3 + kJump + 49);
  CHECK_EQUAL(run(27).first, 186u - 3 + kJump + 27);
  CHECK_EQUAL(run(49).second, 78u - 3 + kJump);
});

}  // namespace
}  // namespace npu::gemmini::testing
