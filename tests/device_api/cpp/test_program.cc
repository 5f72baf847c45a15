// Program files: what they expand to, and that malformed ones are refused.
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "program_bytes.h"
#include "sim/program.h"
#include "sim/program_run.h"

namespace npu::sim::testing {
namespace {

struct Issued {
  Command command;
  uint32_t host_cycles;
};

std::vector<Issued> expand(const Program& program, uint64_t max_steps = 0) {
  std::vector<Issued> issued;
  const auto addresses = program.default_addresses();
  for_each_command(program, addresses, {max_steps}, [&](const Command& command, uint32_t cycles) {
    issued.push_back({command, cycles});
  });
  return issued;
}

std::string one_loop(int64_t extent, uint32_t loop_id, int nesting = 1) {
  Bytes b = program_head();
  b.u32(0).u32(1);
  constant(b, extent);
  for (int i = 0; i < nesting; ++i) b.u32(1).u8(1).u32(loop_id + static_cast<uint32_t>(i)).u32(0);
  b.u32(1);
  plain_command(b, {7, 0, 0});
  return program_file(b.data);
}

const Test expansion("a loop expands into running operands", [] {
  const Program program = Program::parse(copy_program());
  CHECK_EQUAL(program.name, std::string("kernel"));
  const auto issued = expand(program);
  CHECK_EQUAL(issued.size(), 8u);
  CHECK_EQUAL(issued[2].command.rs1, Program::kFirstAddress);
  CHECK_EQUAL(issued[6].command.rs1, Program::kFirstAddress + 512);
  CHECK_EQUAL(issued[7].command.rs1, Program::kFirstAddress + Program::kPageBytes + 512);
  CHECK_EQUAL(issued[4].command.rs2, tile(16, 16, 16));
  CHECK_EQUAL(issued[6].command.rs2, tile(32, 16, 5));
});

const Test host_cycles("the host pays for its instructions", [] {
  const auto issued = expand(Program::parse(copy_program()));
  // A line of code that is new; the call with two addresses; the first constant by five
  // instructions, the second by one.
  CHECK_EQUAL(issued[0].host_cycles, 49u + (2u * 2u + 1u) + 5u + 1u + 1u);
  // Before the loop the registers of what runs and of what counts. The second line of code begins
  // there, the first time. Then the condition, times a number, added, and the command.
  CHECK_EQUAL(issued[2].host_cycles, 49u + 7u + 3u + 1u);
  // What ends an iteration: three operands advance, a counter, a branch.
  CHECK_EQUAL(issued[4].host_cycles, 3u + 2u + 3u + 1u);
  CHECK_EQUAL(issued[5].host_cycles, 1u);
  CHECK_EQUAL(issued[6].host_cycles, 9u);
});

// A program with one argument and one command, whose first word has its address in some form.
std::string addressed(uint8_t unit, uint8_t low_bit, uint64_t base = 0, uint16_t argument = 0) {
  Bytes b = program_head();
  b.u32(1).text("x").u8(0).text("int8").u32(1).u64(64).u32(0).u32(1);
  b.u8(2).u8(0).u64(base).address(argument, unit, low_bit).u32(0).u32(0);
  plain_operand(b, 0);
  return program_file(b.data);
}

uint64_t first_word(const Program& program, uint64_t address) {
  uint64_t word = 0;
  for_each_command(program, {address}, {},
                   [&](const Command& command, uint32_t) { word = command.rs1; });
  return word;
}

const Test shifted("an address stands where its field begins, in units", [] {
  CHECK_EQUAL(first_word(Program::parse(addressed(0, 0, 5)), 0x1230), 0x1235u);
  CHECK_EQUAL(first_word(Program::parse(addressed(4, 0, 5)), 0x1230), 0x123u + 5);
  CHECK_EQUAL(first_word(Program::parse(addressed(4, 26, 5)), 0x1230), (uint64_t{0x123} << 26) + 5);
  CHECK_EQUAL(first_word(Program::parse(addressed(0, 63, 0)), 0x1231), uint64_t{1} << 63);
});

const Test aligned("an address that is no multiple of its units is refused", [] {
  const Program program = Program::parse(addressed(4, 26));
  CHECK_FAILS(kBadProgram, first_word(program, 0x1238));
  CHECK_FAILS(kBadProgram, program.address_words({}));
  // Where the arguments lie by themselves they are multiples.
  const Program large = Program::parse(addressed(20, 0));
  CHECK_EQUAL(large.default_addresses()[0], uint64_t{0x80100000});
});

const Test no_such_address("an address of no argument or beyond the word is refused", [] {
  CHECK_FAILS(kBadProgram, Program::parse(addressed(0, 64)));
  CHECK_FAILS(kBadProgram, Program::parse(addressed(32, 0)));
  CHECK_FAILS(kBadProgram, Program::parse(addressed(0, 0, 0, 1)));
  CHECK_FAILS(kBadProgram, Program::parse(addressed(1, 0, 0, 0xFFFF)));
});

const Test extents("an extent of 0 or less runs nothing", [] {
  CHECK_EQUAL(expand(Program::parse(one_loop(3, 1))).size(), 3u);
  CHECK_EQUAL(expand(Program::parse(one_loop(0, 1))).size(), 0u);
  CHECK_EQUAL(expand(Program::parse(one_loop(-5, 1))).size(), 0u);
});

const Test endless("endless loops stop at the limit", [] {
  const Program program = Program::parse(one_loop(int64_t{1} << 62, 1));
  CHECK_FAILS(kTimedOut, expand(program, 1000));
});

const Test depth("loops nest 64 deep, not deeper", [] {
  CHECK_EQUAL(expand(Program::parse(one_loop(1, 1, 64))).size(), 1u);
  CHECK_FAILS(kBadProgram, Program::parse(one_loop(1, 1, 65)));
});

const Test refusals("malformed files are refused", [] {
  const std::string good = copy_program();
  for (size_t size = 0; size < good.size(); ++size) {
    CHECK_FAILS(kBadProgram, Program::parse(good.substr(0, size)));
  }
  CHECK_FAILS(kBadProgram, Program::parse(good + "x"));
  std::string flipped = good;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  CHECK_FAILS(kBadProgram, Program::parse(flipped));
  CHECK_FAILS(kBadProgram, Program::parse(program_file(good.substr(16) + "x")));
});

const Test scope("a variable is known inside its loop only", [] {
  Bytes b = program_head();
  b.u32(0).u32(1).u8(1).u32(9).u32(1);  // no arguments; expression 0: the variable of loop 9
  b.u8(1).u32(9).u32(0).u32(0);         // which is also the extent of loop 9
  CHECK_FAILS(kBadProgram, Program::parse(program_file(b.data)));
});

const Test versions("a config of another version is refused", [] {
  ConfigPairs fields = host_fields();
  fields.emplace_back("of_its_own", 1);
  HostConfig::from_pairs(fields);
  fields = host_fields();
  fields.pop_back();
  CHECK_FAILS(kBadProgram, HostConfig::from_pairs(fields));
  fields = host_fields();
  fields.push_back(fields.front());
  CHECK_FAILS(kBadProgram, HostConfig::from_pairs(fields));
  for (const auto& [name, value] : ConfigPairs{{"clock_khz", 0},
                                               {"host_queue_commands", int64_t{1} << 30},
                                               {"host_icache_ways", 3},
                                               {"host_icache_bytes", 64}}) {
    fields = host_fields();
    for (auto& [field, was] : fields) {
      if (field == name) was = value;
    }
    CHECK_FAILS(kBadProgram, HostConfig::from_pairs(fields));
    CHECK_FAILS(kBadProgram, Program::parse(program_file(program_head(fields).data)));
  }
});

// Parses a mutated payload under a correct checksum: refused, or harmless to expand.
bool survives(const std::string& payload) {
  try {
    expand(Program::parse(program_file(payload)), 10000);
    return true;
  } catch (const SimError&) {
    return false;
  }
}

const Test mutations("no mutated file crashes", [] {
  const std::string payload = copy_program().substr(16);
  std::mt19937 random(3);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string mutated = payload;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t position = random() % mutated.size();
      switch (random() % 4) {
        case 0:
          mutated[position] = static_cast<char>(random());
          break;
        case 1:
          mutated[position] = static_cast<char>(mutated[position] ^ (1 << random() % 8));
          break;
        case 2:
          mutated.erase(position, 1 + random() % 8);
          break;
        default:
          mutated.insert(position, 1 + random() % 8, static_cast<char>(random()));
      }
      if (mutated.empty()) mutated = "x";
    }
    accepted += survives(mutated);
  }
  CHECK(accepted > 100 && accepted < 19000);
});

const Test shared("heavily shared expressions stay cheap", [] {
  Bytes b = program_head();
  b.u32(0).u32(61);
  constant(b, 1);
  for (uint32_t i = 0; i < 60; ++i) b.u8(2).u32(i).u32(i);  // doubles: 2^60 nodes as a tree
  b.u32(1).u8(2).u8(7);
  b.u64(0).no_address().u32(0).u32(1).u64(1).u32(60);
  plain_operand(b, 0);
  CHECK_EQUAL(expand(Program::parse(program_file(b.data)))[0].command.rs1, uint64_t{1} << 60);
});

}  // namespace
}  // namespace npu::sim::testing
