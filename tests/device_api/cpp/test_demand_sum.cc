// What code asks of its host, summed up: as it is counted command by command.
#include "sim/demand_sum.h"

#include <cstdint>
#include <utility>

#include "check.h"
#include "code_maker.h"
#include "nests.h"
#include "sim/host_code.h"
#include "sim/host_demand.h"
#include "sim/program_run.h"

namespace npu::sim::testing {
namespace {

constexpr uint64_t kMostSteps = uint64_t{1} << 26;

HostDemand summed(const Program& program, uint64_t most_steps = kMostSteps) {
  return demand_sum(program, HostCode(program), {most_steps});
}

const Test as_counted("demand sum: what is counted, but for the call", [] {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Maker maker(seed % 3 == 0 ? 4 : kRegisters);
    const Program& program = maker.program(Nests(maker, seed).body(0));
    const RunControl control{kMostSteps};
    const HostDemand expected = HostDemandCounter(program, control).count();
    const HostDemand found = summed(program);
    const HostCode code(program);
    CHECK_EQUAL(found.instructions + code.call + code.back, expected.instructions);
    CHECK_EQUAL(found.commands, expected.commands);
    CHECK_EQUAL(found.loop_bytes, expected.loop_bytes);
    CHECK_EQUAL(found.once_bytes, expected.once_bytes);
  }
});

const Test limit("demand sum: too many iterations are told, also where they overflow", [] {
  Maker maker;
  Node node = maker.loop(7, INT64_MAX, {command(word(0))});
  for (uint32_t slot = 0; slot < 7; ++slot) node = maker.loop(slot, INT64_MAX, {std::move(node)});
  CHECK_FAILS(kTimedOut, summed(maker.program({std::move(node)})));
  Maker small;
  const Program& fits = small.program({small.loop(0, 10, {command(word(0))})});
  CHECK_EQUAL(summed(fits, 10).commands, 10u);
  CHECK_FAILS(kTimedOut, summed(fits, 9));
});

}  // namespace
}  // namespace npu::sim::testing
