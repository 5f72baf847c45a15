// What a program asks of its host: counted, as a run finds it.
#include <cstdint>
#include <utility>

#include "check.h"
#include "code_maker.h"
#include "nests.h"
#include "sim/host_core.h"
#include "sim/host_demand.h"
#include "sim/program_run.h"

namespace npu::sim::testing {
namespace {

constexpr uint64_t kMostSteps = uint64_t{1} << 26;

HostDemand counted(const Program& program, uint64_t most_steps = kMostSteps) {
  return HostDemandCounter(program, {most_steps}).count();
}

// A run through every iteration.
HostWork run(const Program& program, uint64_t& commands) {
  HostCore host(program.host);
  for_each_command(program, program.default_addresses(), {kMostSteps}, host,
                   [&](const Command&, uint32_t) { ++commands; });
  return host.work();
}

void check_as_run(const Program& program) {
  const RunControl control{kMostSteps};
  HostDemandCounter counter(program, control);
  const HostDemand found = counter.count();
  uint64_t commands = 0;
  const HostWork expected = run(program, commands);
  CHECK_EQUAL(found.instructions, expected.instructions);
  CHECK_EQUAL(found.commands, commands);
  CHECK_EQUAL(counter.once_cycles(), expected.once_cycles);
}

const Test as_run("host demand: what a run counts, with room in the cache and without", [] {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Maker maker(seed % 3 == 0 ? 4 : kRegisters);
    // Of the smaller cache lines are fetched again and again.
    maker.host_config().host_icache_bytes = seed % 2 == 0 ? 16384 : 256;
    maker.host_config().host_icache_ways = 4;
    check_as_run(maker.program(Nests(maker, seed).body(0)));
  }
});

const Test at_once("host demand: iterations that are alike are not gone through", [] {
  Maker maker;
  Node inner = maker.loop(1, 1000, {command(word(0))});
  const Program& program = maker.program({maker.loop(0, 1000, {std::move(inner)})});
  CHECK_EQUAL(counted(program).commands, 1000u * 1000u);
});

const Test limit("host demand: too many iterations are told before they are run", [] {
  Maker maker;
  Node node = maker.loop(7, INT64_MAX, {command(word(0))});
  for (uint32_t slot = 0; slot < 7; ++slot) node = maker.loop(slot, INT64_MAX, {std::move(node)});
  const Program& program = maker.program({std::move(node)});
  CHECK_FAILS(kTimedOut, counted(program));
  Maker small;
  const Program& fits = small.program({small.loop(0, 10, {command(word(0))})});
  CHECK_EQUAL(counted(fits, 10).commands, 10u);
  CHECK_FAILS(kTimedOut, counted(fits, 9));
});

}  // namespace
}  // namespace npu::sim::testing
