// Random loop commands: whatever comes, the simulator works or refuses; nothing crashes or hangs.
#include <random>

#include "device_api/cpp/check.h"
#include "gemmini/simulator/simulator.h"
#include "loop_words.h"

namespace npu::gemmini::testing {
namespace {

class Words {
 public:
  explicit Words(uint32_t seed) : random_(seed) {}

  // Fields mostly small, some of them anything.
  std::vector<Command> next() { return pick(2) != 0 ? matmul() : conv(); }

  std::vector<Command> setup() {
    return {config_st(pick(100)), config_ex(true, pick(2) != 0),
            config_ld(pick(100), 1.0f, pick(2), 0), config_ld(pick(100), 1.0f, pick(2), 1),
            config_ld(pick(100), 1.0f, pick(2), 2)};
  }

 private:
  uint32_t pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  uint64_t bits64() { return static_cast<uint64_t>(random_()) << 32 | random_(); }
  uint64_t address() { return pick(4) == 0 ? 0 : pick(30) == 0 ? bits64() : kDram + pick(4096); }

  std::vector<Command> matmul() {
    MatmulWords words;
    words.i = small();
    words.j = small();
    words.k = small();
    words.i_pad = pick(3);
    words.j_pad = pick(20) == 0 ? 1000 : pick(3);
    words.k_pad = pick(3);
    words.a = address();
    words.b = address();
    words.c = address();
    words.d = address();
    words.rs1 = pick(8) | (pick(10) == 0 ? bits64() : 0);
    words.rs2 = uint64_t{pick(16)} << pick(8);
    return spoiled(words.words());
  }

  std::vector<Command> conv() {
    ConvWords words;
    words.rows = small();
    words.cols = small();
    words.in_channels = 1 + pick(30);
    words.out_channels = 1 + pick(30);
    words.kernel = 1 + pick(3);
    words.stride = 1 + pick(2);
    words.pad = pick(2);
    words.input = address();
    words.weights = address();
    words.bias = address();
    words.output = address();
    words.rs1 = (pick(4) == 0 ? uint64_t{1} << pick(20) : 0) | pick(2);
    words.rs2 = pick(2) | (pick(4) == 0 ? uint64_t{1} << pick(6) : 0);
    return spoiled(words.words());
  }

  uint64_t small() { return pick(30) == 0 ? random_() & 0xFFFF : 1 + pick(5); }

  // Sometimes with a word of which anything may be expected.
  std::vector<Command> spoiled(std::vector<Command> commands) {
    if (pick(4) == 0) {
      Command& command = commands[pick(static_cast<uint32_t>(commands.size()))];
      uint64_t& word = pick(2) != 0 ? command.rs1 : command.rs2;
      word = pick(2) != 0 ? bits64() : word ^ uint64_t{1} << pick(64);
    }
    return commands;
  }

  std::mt19937 random_;
};

const Test random_loops("loops: random words work or are refused", [] {
  int accepted = 0;
  int refused = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    const Config config = device(int64_t{4} << seed % 3);
    Dram dram(1 << 15);
    Words words(seed);
    Simulator simulator(config, dram.map);
    for (const Command& command : words.setup()) simulator.issue(command, 1);
    try {
      for (int i = 0; i < 4; ++i) {
        for (const Command& command : words.next()) simulator.issue(command, 1);
        ++accepted;
      }
    } catch (const SimError& error) {
      CHECK(error.kind != ErrorKind::kTimedOut);
      ++refused;
      continue;
    }
    simulator.finish();
  }
  CHECK(accepted > 500);
  CHECK(refused > 500);
});

const Test any_words("loops: words of which anything may be expected", [] {
  std::mt19937_64 random(1);
  const Config config = device();
  for (int round = 0; round < 3000; ++round) {
    loops::LoopRegisters registers(config);
    for (int i = 0; i < 30; ++i) {
      uint8_t funct = static_cast<uint8_t>(kLoopWs + random() % 14);
      if (funct == kMvin3) funct = kLoopWs;
      // Few bits set, so that bounds are within reach.
      const uint64_t few = random() & random() & random() & random();
      const Command command{funct, few, random() & random() & random() & random()};
      try {
        registers.take({command, i});
      } catch (const SimError&) {
      }
    }
  }
});

}  // namespace
}  // namespace npu::gemmini::testing
