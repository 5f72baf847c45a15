#include "device_api/cpp/check.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

const Test fence("timing: a fence with nothing pending costs 2 cycles", [] {
  CHECK_EQUAL(cost(timing_device(), {}).warm, 2u);
  Timing timing(timing_device());
  CHECK_EQUAL(timing.finish(), 2u);
  CHECK_EQUAL(timing.finish(), 4u);
});

const Test issue("timing: commands come one per cycle, or as fast as the host makes them", [] {
  CHECK_EQUAL(warm({config_ld(64)}), 1u + 11);
  CHECK_EQUAL(warm(repeat(64, {config_ld(64)})), 64u + 11);
  CHECK_EQUAL(cost(timing_device(), repeat(64, {config_ld(64)}), usual_setup(), 7).warm,
              7u * 64 + 11);
  CHECK_EQUAL(warm({{kFlush, 0, 0}}), 1u + 10);
  CHECK_EQUAL(warm({{kCounter, 0, 0}}), 1u + 10);
});

const Test room("timing: the host stalls when the queues on its way are full", [] {
  const auto stalls = [](int commands) {
    const Stream stream = repeat(commands, {mvin(kDram, 0, 16, 64)});
    return cost(timing_device(), stream).stats.host_stall_cycles;
  };
  // Eight entries in the station and ten places before it.
  CHECK_EQUAL(stalls(18), 0);
  CHECK(stalls(19) > 0);
});

const Test head_of_line("timing: a full partition holds up what is behind it", [] {
  Config config = timing_device();
  const Stream loads = repeat(4, {mvin(kDram, 0, 16, 64)});
  Stream stream = loads;
  for (const Command& command : repeat(8, {preload(512, kAcc), compute(256)})) {
    stream.push_back(command);
  }
  // Room for all loads: the pairs run beside them. Room for three: still in time.
  CHECK_EQUAL(warm(stream, config), warm(loads, config));
  config.ld_queue_entries = 3;
  CHECK_EQUAL(warm(stream, config), warm(loads, config));
  // Room for one: the pairs come after the third load is complete.
  config.ld_queue_entries = 1;
  CHECK(warm(stream, config) > warm(loads, config) + 100);
});

const Test chain("timing: dependent commands follow one another, others overlap", [] {
  const Command load = mvin(kDram, 512, 16, 16);
  const Stream pair = {preload(512, kAcc), compute(0)};
  const Command store = mvout(kDram + 4096, kAcc, 16, 16);
  const uint64_t apart = warm({load}) + warm(pair) + warm({store});
  const uint64_t chained = warm({load, pair[0], pair[1], store});
  // Each link saves the fence and the way through the front end, and costs an issue.
  CHECK(chained < apart && chained + 3 * 16 > apart);
  const uint64_t overlapped =
      warm({mvin(kDram, 256, 16, 16), pair[0], pair[1], mvout(kDram + 4096, kAcc + 64, 16, 16)});
  CHECK(overlapped < warm(pair) + 8);
});

const Test deterministic("timing: the same stream costs the same", [] {
  const Stream stream = repeat(5, {mvin(kDram, 0, 16, 64), preload(512, kAcc), compute(0),
                                   mvout(kDram + 8192, kAcc, 16, 16)});
  const Cost first = cost(timing_device(), stream);
  const Cost second = cost(timing_device(), stream);
  CHECK_EQUAL(first.cold, second.cold);
  CHECK_EQUAL(first.warm, second.warm);
  CHECK(first.cold > first.warm);
});

const Test elapsed("timing: what has elapsed never passes what a fence returns", [] {
  Timing timing(timing_device());
  uint64_t last = 0;
  for (const Command& command : repeat(40, {mvin(kDram, 0, 16, 64)})) {
    timing.issue(command, 3);
    CHECK(timing.elapsed() >= last + 3);
    last = timing.elapsed();
  }
  CHECK(timing.finish() > last);
});

const Test lone("timing: a PRELOAD nothing follows keeps no fence waiting", [] {
  Timing timing(timing_device());
  timing.issue(config_ex(), 1);
  timing.issue(preload(512, kAcc), 1);
  const uint64_t before = timing.finish();
  CHECK(before < 25);
  // The COMPUTE may come after the fence.
  timing.issue(compute(0), 1);
  CHECK(timing.finish() > before + 60);
});

const Test hang("timing: queues full of commands that wait for one behind them are an error", [] {
  const auto loads_before_compute = [](int loads) {
    Stream stream = {preload(512, kAcc)};
    for (int i = 0; i < loads; ++i) stream.push_back(mvin(kDram, 512, 16, 16));
    stream.push_back(compute(0));
    return warm(stream);
  };
  CHECK(loads_before_compute(8) > 0);
  const std::string text = CHECK_FAILS(kTimedOut, loads_before_compute(9));
  CHECK(text.find("the device hangs") != std::string::npos);
});

// Anything the functional part lets pass, and what it does not: sizes of nothing.
const Test random("timing: any stream of commands ends, and a longer one no sooner", [] {
  uint64_t state = 1;
  const auto pick = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  const auto operand = [&](uint64_t max_cols) {
    const uint32_t kinds[] = {0, kAcc, kAccumulate, kFullWidth};
    const uint32_t address = kinds[pick(4)] + static_cast<uint32_t>(pick(64));
    return tile(pick(8) == 0 ? kGarbage : address, pick(17), pick(max_cols + 1));
  };
  for (int stream = 0; stream < 200; ++stream) {
    Timing timing(timing_device());
    uint64_t last = 0;
    for (int i = 0; i < 60; ++i) {
      const uint64_t address = pick(4) == 0 ? 0 : kDram + pick(4096);
      switch (pick(8)) {
        case 0:
          timing.issue(config_ld(pick(100), pick(2) ? 1.0f : 0.5f, pick(2), pick(3), 16, pick(4)),
                       1);
          break;
        case 1:
          timing.issue(config_ex(pick(4) != 0, pick(4) == 0, pick(4) == 0), 1);
          break;
        case 2:
          timing.issue({kConfig,
                        (pick(1 << 12) << 4 & 0xFF0) | pick(5) << 32 | pick(5) << 40 |
                            pick(8) << 48 | pick(8) << 56 | kConfigSt,
                        float_bits(1.0f) << 32 | pick(100)},
                       1);
          break;
        case 3:
          timing.issue({kMvout, kDram + pick(4096), tile(kAcc + pick(64), pick(17), pick(65))}, 1);
          break;
        case 4:
          timing.issue(
              {kMvin2, address, tile(static_cast<uint32_t>(pick(128)), pick(17), pick(65))}, 1);
          break;
        default:
          // A COMPUTE always follows its PRELOAD: the hardware hangs on less.
          timing.issue({kPreload, operand(16), operand(16)}, 1);
          timing.issue(
              {static_cast<uint8_t>(kComputePreloaded + pick(2)), operand(16), operand(16)},
              static_cast<uint32_t>(pick(40)));
      }
      if (pick(20) == 0) {
        const uint64_t now = timing.finish();
        CHECK(now > last && now < last + 100000);
        last = now;
      }
    }
    CHECK(timing.finish() > last);
  }
});

const Test hanging_fence("timing: a fence that waits for a PRELOAD without its COMPUTE is an error",
                         [] {
                           CHECK_FAILS(kTimedOut, warm({preload(512, kAcc), preload(512, kAcc)}));
                           CHECK_FAILS(kTimedOut,
                                       warm({preload(512, kAcc), mvout(kDram, kAcc, 16, 16)}));
                         });

const Test limits("timing: a device beyond the model's limits is refused", [] {
  Config config = timing_device();
  config.spad_banks = 128;
  CHECK_FAILS(kBadProgram, Timing timing(config));
  config = timing_device();
  config.bus_bytes = 24;
  CHECK_FAILS(kBadProgram, Timing timing(config));
});

const Test nothing("timing: operands of nothing may lie anywhere", [] {
  Config config = timing_device();
  config.spad_banks = 64;
  config.acc_banks = 64;
  const uint32_t beyond = (1u << 25) - 1;
  for (const uint64_t rows : {0, 1}) {
    const uint64_t cols = 1 - rows;
    const Stream stream = {{kPreload, tile(beyond, rows, cols), tile(kAcc | beyond, 0, cols)},
                           {kComputePreloaded, tile(beyond, rows, cols), tile(kGarbage, 1, 1)},
                           {kPreload, tile(beyond, rows, cols), tile(kAccumulate | beyond, 0, 1)},
                           {kComputePreloaded, tile(beyond, 0, 1), tile(beyond, rows, cols)}};
    CHECK(cost(config, stream).warm > 0);
  }
});

const Test sizes("timing: devices of other sizes run", [] {
  for (const int64_t dim : {4, 8, 32, 64}) {
    const uint64_t side = static_cast<uint64_t>(dim);
    const Stream stream = {{kMvin, kDram, tile(0, side, side)},
                           {kPreload, tile(256, side, side), tile(kAcc, side, side)},
                           {kComputePreloaded, tile(0, side, side), tile(kGarbage, side, side)},
                           {kMvout, kDram + 8192, tile(kAcc, side, side)}};
    const Cost run = cost(device(dim), stream);
    CHECK(run.cold > run.warm);
    CHECK(run.warm > 5 * side);
    CHECK_EQUAL(run.stats.macs, 2 * dim * dim * dim);
  }
});

}  // namespace
}  // namespace npu::gemmini::testing
