// Races under the sanitizers. What is one and what is not is tested in Python, by brute force.
#include <random>
#include <vector>

#include "../check.h"
#include "../device.h"
#include "simulator.h"

namespace npu::sim::testing {
namespace {

struct Checked {
  Checked() : dram(1 << 16), simulator(device(), dram.map, {}) { simulator.check_races(); }
  void run(const std::vector<Command>& commands) {
    for (const Command& command : commands) simulator.run(command, 1);
  }
  Dram dram;
  Simulator simulator;
};

const std::vector<Command> kSetup = {config_ld(64), config_st(64), config_ex()};
const std::vector<Command> kSum = {{kMvin, kDram, tile(kAcc, 16, 16)},
                                   {kMvin, kDram, tile(kAccumulate, 16, 16)}};
const std::vector<Command> kStore = {{kMvout, kDram + 8192, tile(kAcc, 16, 16)}};

const Test sum("races: a load that adds to what another has brought, and a fence between", [] {
  Checked racing;
  racing.run(kSetup);
  racing.run(kSum);
  CHECK_FAILS(kRace, racing.run(kStore));
  Checked fenced;
  fenced.run(kSetup);
  fenced.run({kSum[0]});
  fenced.simulator.finish();
  fenced.run({kSum[1]});
  fenced.run(kStore);
  fenced.simulator.finish();
  fenced.run({{kMvin, kDram + 8192, tile(0, 16, 16)}});  // what was stored before the fence
});

const Test many("races: many loads that nobody reads, and that nobody waits for", [] {
  Checked device;
  device.run(kSetup);
  for (uint32_t i = 0; i < 5000; ++i) {
    device.run({{kMvin, kDram, tile(i % 96, 16, 16)}, {kMvin, kDram, tile(700, 16, 16)}});
    device.run({{kMvout, kDram + 16384, tile(512, 16, 16)}});
  }
  device.simulator.finish();
});

const Test random("races: random streams are refused or run", [] {
  std::mt19937 chance(5);
  const auto pick = [&](auto... values) {
    const uint64_t all[] = {static_cast<uint64_t>(values)...};
    return all[chance() % sizeof...(values)];
  };
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    Checked device;
    device.run(kSetup);
    try {
      for (int j = 0; j < 40; ++j) {
        const auto row = static_cast<uint32_t>(chance() % 96);
        const uint64_t rows = pick(1, 7, 16);
        const uint64_t address = kDram + 64 * (chance() % 256);
        const auto acc = static_cast<uint32_t>(pick(kAcc, kAccumulate));
        switch (chance() % 5) {
          case 0:
            device.run({{kMvin, address, tile(row + 200 * (chance() % 4), rows, 64)}});
            break;
          case 1:
            device.run({{kMvin, address, tile(acc | row, rows, 16)}});
            break;
          case 2:
            device.run({{kMvout, address, tile(kAcc | row, rows, 16)}});
            break;
          case 3:
            device.run({config_ex(true, chance() % 2 == 0)});
            break;
          default:
            device.run({{kPreload, tile(row, rows, 16), tile(acc | row, rows, 16)},
                        {kComputePreloaded, tile(row + 16, rows, 16), tile(kGarbage, 16, 16)}});
        }
      }
      device.simulator.finish();
    } catch (const SimError& error) {
      CHECK(error.kind == ErrorKind::kRace);
      ++refused;
    }
  }
  CHECK(refused > 100 && refused < 400);
});

}  // namespace
}  // namespace npu::sim::testing
