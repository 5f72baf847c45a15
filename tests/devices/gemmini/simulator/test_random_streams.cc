// Random command streams: whatever comes, the simulator works or refuses; nothing crashes.
#include <random>

#include "device.h"
#include "device_api/cpp/check.h"
#include "gemmini/simulator/simulator.h"

namespace npu::gemmini::testing {
namespace {

class Stream {
 public:
  explicit Stream(uint32_t seed) : random_(seed) {}

  // Fields mostly within reach of a small device, sometimes at and past its edges.
  Command next(const Config& config) {
    switch (pick(12)) {
      case 0:
        return {kConfig, bits64() & ~uint64_t{0x18} & ~uint64_t{3},
                (bits64() & 0x0003000000000000) | pick(4)};
      case 1:
        return config_ld(pick(200), pick(4) ? 1.0f : 0.3f, pick(2), pick(3), pick(40),
                         pick(8) ? 1 : pick(6));
      case 2:
        return config_st(pick(200), pick(4) ? 0.02f : -1.5f, pick(2));
      case 3:
        return pooled();
      case 4:
      case 5:
        return {mvin_funct(), pick(4) ? address() : 0, local(config, true)};
      case 6:
        return {kMvout, address(), local(config, true)};
      case 7:
      case 8:
        return {kPreload, operand(config), operand(config)};
      case 9:
      case 10:
        return {static_cast<uint8_t>(kComputePreloaded + pick(2)), operand(config),
                operand(config)};
      default:
        return {static_cast<uint8_t>(pick(128)), bits64(), bits64()};
    }
  }

 private:
  uint64_t bits64() { return static_cast<uint64_t>(random_()) << 32 | random_(); }
  uint32_t pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  uint8_t mvin_funct() {
    constexpr uint8_t kFuncts[] = {kMvin, kMvin2, kMvin3};
    return kFuncts[pick(3)];
  }
  uint64_t address() { return pick(20) ? kDram + pick(1 << 14) : bits64(); }
  uint64_t local(const Config& config, bool is_block) {
    const uint64_t rows = pick(15) ? 1 + pick(static_cast<uint32_t>(config.dim)) : pick(70);
    const uint64_t cols = 1 + pick(static_cast<uint32_t>(config.dim * (is_block ? 4 : 1)));
    constexpr uint32_t kFlags[] = {0, 0, kAcc, kAccumulate, kFullWidth, 0x44000000};
    return tile(kFlags[pick(pick(10) ? 4 : 6)] | pick(pick(10) ? 240 : 1100), rows, cols);
  }
  uint64_t operand(const Config& config) {
    return pick(4) ? local(config, false) & (pick(2) ? ~uint64_t{kAccumulate} : ~uint64_t{0})
                   : tile(kGarbage, 16, 16);
  }
  Command pooled() {
    const uint64_t rs1 = uint64_t{pick(12)} << 56 | uint64_t{pick(12)} << 48 |
                         uint64_t{pick(8)} << 40 | uint64_t{pick(8)} << 32 |
                         uint64_t{pick(16)} << 24 | pick(256) << 4;
    return {kConfig, rs1 | kConfigSt, float_bits(0.1f) << 32 | pick(100)};
  }

  std::mt19937 random_;
};

const Test random_streams("random streams work or are refused", [] {
  int accepted = 0;
  int refused = 0;
  int finished = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Config config = device(int64_t{2} << seed % 5);
    Dram dram(1 << 15);
    Stream stream(seed);
    // A refused command ends a launch. To reach deep states nonetheless, what was accepted is
    // run again on a fresh device before each next try.
    std::vector<Command> commands;
    for (int i = 0; i < 60; ++i) {
      const Command command = stream.next(config);
      Simulator simulator(config, dram.map);
      for (const Command& earlier : commands) simulator.issue(earlier, 1);
      try {
        simulator.issue(command, 3);
        commands.push_back(command);
        ++accepted;
      } catch (const SimError&) {
        ++refused;
      }
    }
    Simulator simulator(config, dram.map);
    for (const Command& command : commands) simulator.issue(command, 1);
    try {
      CHECK(simulator.finish() >= commands.size());
      CHECK_EQUAL(simulator.stats().commands, static_cast<int64_t>(commands.size()));
      ++finished;
    } catch (const SimError& error) {
      // A PRELOAD without its COMPUTE, and something that waits for its result.
      if (error.kind != ErrorKind::kTimedOut) throw;
    }
  }
  CHECK(finished > 50);
  CHECK(accepted > 3000);
  CHECK(refused > 1000);
});

const Test limit("a launch past the limit is stopped", [] {
  const Config config = device();
  Dram dram(1 << 10);
  Simulator simulator(config, dram.map, {100});
  CHECK_FAILS(kTimedOut, for (;;) simulator.issue({kFlush, 0, 0}, 1));
});

}  // namespace
}  // namespace npu::gemmini::testing
