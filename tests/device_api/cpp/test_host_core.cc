// What the host's instructions cost: cycles, lines of code, ends of loops.
#include <cstdint>
#include <utility>
#include <vector>

#include "check.h"
#include "host.h"
#include "sim/host_core.h"
#include "sim/program.h"
#include "sim/program_run.h"

namespace npu::sim::testing {
namespace {

// Of a call without tensors, before the commands and after them: an instruction each.
constexpr uint64_t kJump = 1;
constexpr uint64_t kReturn = 1;

// A program of commands whose words are zeros, an instruction each.
Program program_of(std::vector<Node> body, const HostConfig& config = host()) {
  Program program;
  program.host = config;
  program.slot_count = 1;
  program.body = std::move(body);
  return program;
}
std::vector<Node> commands(size_t count) {
  Node node;
  node.funct = 1;
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

uint64_t host_cycles(const Program& program, HostCore& core) {
  uint64_t cycles = 0;
  for_each_command(program, {}, {}, core,
                   [&](const Command&, uint32_t of_command) { cycles += of_command; });
  return cycles;
}

const Test straight("host core: a line of code that is new costs once", [] {
  const Program program = program_of(commands(64));
  HostCore core(program.host);
  // Of its five lines the jump takes a place in the first.
  CHECK_EQUAL(host_cycles(program, core), kJump + 64u + 5 * 49u);
  CHECK_EQUAL(core.work().once_cycles, kJump + 64u + kReturn + 5 * 49u);
  CHECK_EQUAL(host_cycles(program, core), kJump + 64u);  // the second run finds it cached
});

const Test once("host core: 18,970 bytes that run once wait some 14,466 cycles", [] {
  const Program program = program_of(commands(18970 / 4));
  HostCore core(program.host);
  const uint64_t waited = host_cycles(program, core) - 18970 / 4;
  CHECK(waited > 14466 * 0.99 && waited < 14466 * 1.01);
});

const Test delays("host core: others make it wait longer for lines, from when it asks for them",
                  [] {
                    struct Line {
                      uint32_t number;
                      bool is_new;
                      uint64_t since;
                    };
                    std::vector<Line> lines;
                    const auto run = [&lines](const Program& program, HostCore& core) {
                      lines.clear();
                      uint64_t cycles = 0;
                      for_each_command(
                          program, {}, {}, core,
                          [&](const Command&, uint32_t of_command) { cycles += of_command; },
                          [&](uint32_t number, bool is_new, uint64_t since) {
                            lines.push_back({number, is_new, since});
                            return uint64_t{100} * (number + 1);
                          });
                      return cycles;
                    };
                    Program program = program_of(commands(64));
                    HostCore core(program.host);
                    CHECK_EQUAL(run(program, core), kJump + 64u + 5 * 49u + 1500u);
                    CHECK_EQUAL(lines.size(), size_t{5});
                    for (uint32_t i = 0; i < 5; ++i) {
                      CHECK(lines[i].number == i && lines[i].is_new && lines[i].since == 0);
                    }
                    CHECK_EQUAL(run(program, core), kJump + 64u);
                    CHECK(lines.empty());
                    // Code without a price is fetched from nobody.
                    program.host.host_icache_miss_cycles = program.host.host_icache_l2_cycles = 0;
                    HostCore free(program.host);
                    CHECK_EQUAL(run(program, free), kJump + 64u);
                    CHECK(lines.empty());
                  });

const Test small_loop("host core: a loop that fits is fetched about once", [] {
  Program program = program_of({});
  program.body = {loop(program, 100, commands(1022))};  // 64 lines, a quarter of the cache
  HostCore core(program.host);
  const uint64_t issuing = kJump + 1 + 100 * (1022 + 2);
  const uint64_t waited = host_cycles(program, core) - issuing;
  // With the jump and the entry it begins two instructions behind a line, and the last end is after
  // the last command; lines of a set replace each other at random until all have a way.
  CHECK(waited >= 64 * 49 - 2 && waited < 64 * 49 + 64 * 14);
  CHECK_EQUAL(core.work().instructions, issuing + kReturn);
});

const Test big_loop("host core: a loop too big is fetched anew, from the L2", [] {
  Program program = program_of({});
  program.body = {loop(program, 100, commands(16 * 1024))};  // 1024 lines, 4 times the cache
  HostCore core(program.host);
  const uint64_t waited = host_cycles(program, core) - 100 * (16 * 1024 + 2);
  // By chance a few lines outlive three others of each set.
  CHECK(waited > 1024 * 49 + 99 * 1024 * 14 * 0.6 && waited < 1024 * 49 + 99 * 1024 * 14 * 0.99);
});

const Test exits("host core: leaving a loop is a branch that was not expected", [] {
  Program program = program_of({});
  program.body = {loop(program, 4, commands(1)), commands(1)[0]};
  HostCore core(program.host);
  host_cycles(program, core);
  // Counter, 4 x (command, counter, branch), exit, command.
  CHECK_EQUAL(host_cycles(program, core), kJump + 1u + 4 * 3u + 3u + 1u);
  CHECK_EQUAL(core.work().instructions, 2 * (kJump + 1u + 4 * 3u + 1u + kReturn));
});

const Test numbers("host core: the device says what each costs", [] {
  HostConfig config = host();
  config.host_cycles_per_command = 5;
  config.host_cycles_per_instruction = 2;
  config.host_branch_miss_cycles = 7;
  config.host_icache_miss_cycles = 0;
  Program program = program_of({}, config);
  program.body = {loop(program, 4, commands(1)), commands(1)[0]};
  HostCore core(config);
  CHECK_EQUAL(host_cycles(program, core), 2 * kJump + 2u + 4 * (5u + 2 * 2u) + 7u + 5u);
});

}  // namespace
}  // namespace npu::sim::testing
