// Races under the sanitizers. What is one and what is not is tested in Python, by brute force.
#include <random>
#include <utility>
#include <vector>

#include "checked.h"
#include "device_api/cpp/check.h"

namespace npu::gemmini::testing {
namespace {

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

const Test mixed("races: zeros into a bank of the accumulator, data into another, and a fence", [] {
  const std::vector<Command> setup = {config_ld(64), config_ld(0, 1.0f, false, 1)};
  const auto other_bank = kAcc + static_cast<uint32_t>(device().acc_bank_rows);
  const Command zeros = {kMvin, 0, tile(kAcc, 16, 16)};
  const Command repeated = {kMvin2, kDram, tile(other_bank, 16, 16)};
  for (const auto& [first, second] : {std::pair{zeros, repeated}, std::pair{repeated, zeros}}) {
    Checked racing;
    racing.run(setup);
    racing.run({first});
    CHECK_FAILS(kRace, racing.run({second}));
    Checked fenced;
    fenced.run(setup);
    fenced.run({first});
    fenced.simulator.finish();
    fenced.run({second});
    CHECK_FAILS(kRace, fenced.run({first}));
  }
});

std::vector<Command> product(uint32_t result) {
  return {{kPreload, tile(0, 16, 16), tile(result, 16, 16)},
          {kComputePreloaded, tile(16, 16, 16), tile(kGarbage, 16, 16)}};
}

const Test dropped("races: a sum of the rows that the result before ends with", [] {
  for (const auto& [offset, is_race] :
       {std::pair{0u, false}, {13u, false}, {14u, true}, {15u, true}, {16u, false}}) {
    Checked device;
    device.run(kSetup);
    device.run(product(kAcc));
    const std::vector<Command> sum = product(kAccumulate + offset);
    if (is_race) {
      CHECK_FAILS(kRace, device.run(sum));
      continue;
    }
    device.run(sum);
    // Behind a fence, or what empties the array, it does not matter.
    device.run({config_ex()});
    device.run(product(kAccumulate + offset + 14));
    device.simulator.finish();
    device.run(product(kAccumulate + offset + 28));
  }
});

const Test dropped_os("races: output-stationary, the last rows come first", [] {
  for (const auto& [row, is_race] :
       {std::pair{31u, false}, {32u, false}, {33u, true}, {34u, true}, {35u, false}}) {
    Checked device;
    device.run({config_ex(false)});
    device.run(product(kAcc + 48));
    const std::vector<Command> sum = product(kAccumulate + row);
    if (is_race) {
      CHECK_FAILS(kRace, device.run(sum));
    } else {
      device.run(sum);
    }
  }
});

// Commands at random, of few places so that they meet.
std::vector<Command> random_commands(std::mt19937& chance, int count) {
  const auto pick = [&](auto... values) {
    const uint64_t all[] = {static_cast<uint64_t>(values)...};
    return all[chance() % sizeof...(values)];
  };
  std::vector<Command> commands;
  for (int i = 0; i < count; ++i) {
    const auto row = static_cast<uint32_t>(chance() % 96);
    const uint64_t rows = pick(1, 7, 16);
    const uint64_t address = kDram + 64 * (chance() % 256);
    const auto acc = static_cast<uint32_t>(pick(kAcc, kAccumulate));
    switch (chance() % 5) {
      case 0:
        commands.push_back({kMvin, address, tile(row + 200 * (chance() % 4), rows, 64)});
        break;
      case 1:
        commands.push_back({kMvin, address, tile(acc | row, rows, 16)});
        break;
      case 2:
        commands.push_back({kMvout, address, tile(kAcc | row, rows, 16)});
        break;
      case 3:
        commands.push_back(config_ex(true, chance() % 2 == 0));
        break;
      default:
        commands.push_back({kPreload, tile(row, rows, 16), tile(acc | row, rows, 16)});
        commands.push_back({kComputePreloaded, tile(row + 16, rows, 16), tile(kGarbage, 16, 16)});
    }
  }
  return commands;
}

// How many of the commands run before one is refused.
size_t accepted(Checked& device, const std::vector<Command>& commands) {
  for (size_t i = 0; i < commands.size(); ++i) {
    try {
      device.run({commands[i]});
    } catch (const SimError& error) {
      CHECK(error.kind == ErrorKind::kRace);
      return i;
    }
  }
  return commands.size();
}

const Test random("races: random streams are refused or run", [] {
  std::mt19937 chance(5);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    Checked device;
    device.run(kSetup);
    const std::vector<Command> commands = random_commands(chance, 40);
    if (accepted(device, commands) < commands.size()) {
      ++refused;
    } else {
      device.simulator.finish();
    }
  }
  CHECK(refused > 100 && refused < 400);
});

const Test fences("races: behind a fence all is as if nothing had come before", [] {
  std::mt19937 chance(6);
  int compared = 0;
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    Checked device;
    device.run(kSetup);
    const std::vector<Command> before = random_commands(chance, 1 + chance() % 8);
    const std::vector<Command> behind = random_commands(chance, 20);
    if (accepted(device, before) < before.size()) continue;
    device.simulator.finish();
    Checked fresh;
    fresh.run(kSetup);
    // The configuration stays.
    for (const Command& command : before) {
      if (command.funct == kConfig) fresh.run({command});
    }
    const size_t count = accepted(fresh, behind);
    CHECK(accepted(device, behind) == count);
    ++compared;
    refused += count < behind.size();
  }
  CHECK(compared > 200 && refused > 100);
});

}  // namespace
}  // namespace npu::gemmini::testing
