// What the host's instructions cost: cycles, lines of code, ends of loops.
#include <cstdint>
#include <utility>
#include <vector>

#include "check.h"
#include "device.h"
#include "host_core.h"
#include "program.h"
#include "program_run.h"
#include "timing/stream.h"

namespace npu::sim::testing {
namespace {

// A program of commands whose words are zeros, an instruction each.
Program program_of(std::vector<Node> body, const Config& config = device()) {
  Program program;
  program.config = config;
  program.slot_count = 1;
  program.body = std::move(body);
  return program;
}
std::vector<Node> commands(size_t count) {
  Node node;
  node.funct = kConfig;
  return std::vector<Node>(count, node);
}
Node loop(Program& program, int64_t extent, std::vector<Node> body) {
  program.exprs.nodes.push_back({Op::kConst, extent});
  Node node;
  node.kind = Node::Kind::kLoop;
  node.extent = static_cast<uint32_t>(program.exprs.nodes.size() - 1);
  program.exprs.prepare_root(node.extent);
  node.body = std::move(body);
  return node;
}

uint64_t host_cycles(const Program& program, HostCore& host) {
  uint64_t cycles = 0;
  for_each_command(program, {}, {}, host,
                   [&](const Command&, uint32_t of_command) { cycles += of_command; });
  return cycles;
}

const Test straight("host core: a line of code that is new costs once", [] {
  const Program program = program_of(commands(64));
  HostCore host(program.config);
  CHECK_EQUAL(host_cycles(program, host), 64u + 4 * 49u);
  CHECK_EQUAL(host.work().once_cycles, 64u + 4 * 49u);
  CHECK_EQUAL(host_cycles(program, host), 64u);  // the second run finds it cached
});

const Test measured("host core: 64 commands that load nothing take what was measured", [] {
  // From a fence to a fence on the hardware: 274 over DDR3, 186 over ideal memory, 78 when cached.
  // The simulated way to the queues is 3 cycles shorter, cached or not.
  const auto run = [](int64_t line_cycles) {
    Config config = timing_device();
    config.host_icache_miss_cycles = line_cycles;
    const Program program = program_of(commands(64), config);
    HostCore host(config);
    Timing timing(config);
    std::pair<uint64_t, uint64_t> cycles;
    for (uint64_t* result : {&cycles.first, &cycles.second}) {
      const uint64_t start = timing.finish();
      for_each_command(program, {}, {}, host, [&](const Command&, uint32_t of_command) {
        timing.issue(config_ld(64), of_command);
      });
      *result = timing.finish() - start;
    }
    return cycles;
  };
  CHECK_EQUAL(run(49).first, 274u - 3);
  CHECK_EQUAL(run(27).first, 186u - 3);
  CHECK_EQUAL(run(49).second, 78u - 3);
});

const Test once("host core: 18,970 bytes that run once wait some 14,466 cycles", [] {
  const Program program = program_of(commands(18970 / 4));
  HostCore host(program.config);
  const uint64_t waited = host_cycles(program, host) - 18970 / 4;
  CHECK(waited > 14466 * 0.99 && waited < 14466 * 1.01);
});

const Test small_loop("host core: a loop that fits is fetched about once", [] {
  Program program = program_of({});
  program.body = {loop(program, 100, commands(1022))};  // 64 lines, a quarter of the cache
  HostCore host(program.config);
  const uint64_t issuing = 100 * (1022 + 2) + 1;
  const uint64_t waited = host_cycles(program, host) - issuing;
  // With the entry it begins one instruction behind a line, and the last end is after the last
  // command; lines of a set replace each other at random until all have a way.
  CHECK(waited >= 64 * 49 - 2 && waited < 64 * 49 + 64 * 14);
  CHECK_EQUAL(host.work().instructions, issuing);
});

const Test big_loop("host core: a loop too big is fetched anew, from the L2", [] {
  Program program = program_of({});
  program.body = {loop(program, 100, commands(16 * 1024))};  // 1024 lines, 4 times the cache
  HostCore host(program.config);
  const uint64_t waited = host_cycles(program, host) - 100 * (16 * 1024 + 2);
  // By chance a few lines outlive three others of each set.
  CHECK(waited > 1024 * 49 + 99 * 1024 * 14 * 0.6 && waited < 1024 * 49 + 99 * 1024 * 14 * 0.99);
});

const Test exits("host core: leaving a loop is a branch that was not expected", [] {
  Program program = program_of({});
  program.body = {loop(program, 4, commands(1)), commands(1)[0]};
  HostCore host(program.config);
  host_cycles(program, host);
  // Counter, 4 x (command, counter, branch), exit, command.
  CHECK_EQUAL(host_cycles(program, host), 1u + 4 * 3u + 3u + 1u);
  CHECK_EQUAL(host.work().instructions, 2 * (1u + 4 * 3u + 1u));
});

const Test numbers("host core: the device says what each costs", [] {
  Config config = device();
  config.host_cycles_per_command = 5;
  config.host_cycles_per_instruction = 2;
  config.host_branch_miss_cycles = 7;
  config.host_icache_miss_cycles = 0;
  Program program = program_of({}, config);
  program.body = {loop(program, 4, commands(1)), commands(1)[0]};
  HostCore host(config);
  CHECK_EQUAL(host_cycles(program, host), 2u + 4 * (5u + 2 * 2u) + 7u + 5u);
});

}  // namespace
}  // namespace npu::sim::testing
