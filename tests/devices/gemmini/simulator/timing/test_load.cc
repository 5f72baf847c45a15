#include "device_api/cpp/check.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

constexpr uint32_t kSpadBank = 256;  // rows of banks of the small device
constexpr uint32_t kAccBank = 128;

Stream mvins(int count, uint64_t rows, uint64_t cols) {
  Stream stream;
  for (int i = 0; i < count; ++i) {
    stream.push_back(mvin(kDram, static_cast<uint32_t>(64 * (i % 4)), rows, cols));
  }
  return stream;
}

const Test single("timing/load: one MVIN costs its beats and a fixed way", [] {
  // Measured on the generated hardware: 31 cycles after issue plus a beat each.
  CHECK_EQUAL(warm(mvins(1, 1, 16)), 1u + 31);
  CHECK_EQUAL(warm(mvins(1, 16, 16)), 1u + 46);
  CHECK_EQUAL(warm(mvins(1, 16, 64)), 1u + 94);
  CHECK_EQUAL(warm(mvins(1, 16, 17)), warm(mvins(1, 16, 32)));
});

const Test overlapped("timing/load: at most loads_in_flight are under way", [] {
  Config config = timing_device();
  const auto per_load = [&](int64_t in_flight) {
    config.loads_in_flight = in_flight;
    return (warm(mvins(24, 16, 16), config) - warm(mvins(8, 16, 16), config)) / 16.0;
  };
  // One at a time: the whole latency for each. Two: half of it. Four: the beats are what counts.
  CHECK_EQUAL(per_load(1), 35.0);
  CHECK(per_load(2) > 17.0 && per_load(2) < 18.5);
  CHECK(per_load(4) > 16.0 && per_load(4) < 17.1);
});

const Test zeros("timing/load: zeros cost a cycle per block and touch no memory", [] {
  const Cost cheap = cost(timing_device(), {mvin(0, 0, 16, 16)});
  CHECK_EQUAL(cheap.cold, cheap.warm);
  CHECK_EQUAL(cheap.warm, 1u + 30);
  CHECK_EQUAL(cheap.stats.bytes_loaded, 0);
  CHECK_EQUAL(cheap.stats.l2_misses, 0);
  CHECK_EQUAL(warm({mvin(0, 0, 16, 64)}), cheap.warm + 48);
  CHECK_EQUAL(warm({mvin(0, 0, 16, 49)}), cheap.warm + 48);
});

const Test repeated("timing/load: a stride of 0 reads one row and writes all", [] {
  const Stream stream = {mvin(kDram, 0, 16, 16)};
  const Cost once = cost(timing_device(), stream, {config_ld(0)});
  const Cost all = cost(timing_device(), stream, {config_ld(64)});
  CHECK_EQUAL(once.warm, all.warm);
  CHECK_EQUAL(once.stats.bytes_loaded, 2 * 16);
  CHECK_EQUAL(all.stats.bytes_loaded, 2 * 256);
  CHECK_EQUAL(once.stats.l2_misses, 1);
  CHECK_EQUAL(all.stats.l2_misses, 16);
});

const Test cold("timing/load: cold lines come at the memory's bandwidth", [] {
  const Cost load = cost(timing_device(), mvins(1, 16, 64));
  CHECK_EQUAL(load.cold, load.warm + 69);  // 16 lines of 8 cycles instead of 64 beats, and latency
});

const Test from_memory(
    "timing/load: lines come from memory once, and go back when others need room", [] {
      const Cost load = cost(timing_device(), mvins(1, 16, 64));
      CHECK_EQUAL(load.stats.memory_bytes_read, 16 * 64);
      CHECK_EQUAL(load.stats.memory_bytes_written, 0);
      // Whole lines, twice what the cache holds, in each of two runs: none is fetched, and each
      // that
      // missed goes back unless it is still there.
      const Config config = timing_device();
      Stream stores;
      for (uint64_t at = 0; at < 2 * static_cast<uint64_t>(config.l2_bytes); at += 16 * 64) {
        stores.push_back(mvout(kDram + at, 0, 16, 64));
      }
      const timing::Stats stats = cost(config, stores).stats;
      const int64_t missed = config.l2_line_bytes * stats.l2_misses;
      CHECK_EQUAL(stats.memory_bytes_read, 0);
      CHECK(missed > 2 * config.l2_bytes);
      CHECK(stats.memory_bytes_written >= missed - config.l2_bytes);
      CHECK(stats.memory_bytes_written < missed);
    });

const Test accumulator("timing/load: int32 takes four times the beats of int8", [] {
  CHECK_EQUAL(warm({mvin(kDram, kAcc, 16, 16)}), warm({mvin(kDram, 0, 16, 64)}));
  const Stream shrunk = {config_ld(64, 1.0f, true)};
  CHECK_EQUAL(cost(timing_device(), {mvin(kDram, kAcc, 16, 16)}, shrunk).warm,
              warm({mvin(kDram, 0, 16, 16)}));
});

const Test scaled("timing/load: a scale slows int8, not int32", [] {
  const auto with_scale = [](float scale, uint32_t to) {
    return cost(timing_device(), {mvin(kDram, to, 16, 16)}, {config_ld(64, scale)}).warm;
  };
  CHECK_EQUAL(with_scale(0.5f, 0), with_scale(1.0f, 0) + 15 * 3 + 6);
  CHECK_EQUAL(with_scale(0.5f, kAcc), with_scale(1.0f, kAcc));
});

const Test pixels("timing/load: pixel repeats write every row that often", [] {
  const auto with_repeats = [](uint64_t repeats) {
    return cost(timing_device(), {mvin(kDram, 64, 16, 4)},
                {config_ld(64, 1.0f, false, 0, 16, repeats)})
        .warm;
  };
  CHECK_EQUAL(with_repeats(1), with_repeats(0));
  CHECK_EQUAL(with_repeats(3), with_repeats(1) + 2 * 16);
});

// Results of `rows` rows each, to rows 0 to 15 of the accumulator, one after another.
Stream results(int count, uint64_t rows) {
  return repeat(count, {preload(2 * kSpadBank, kAcc, rows), compute(0, rows)});
}

const Test results_first("timing/load: data give way to the array's results for their bank", [] {
  // A load whose data come while the array works.
  const auto with_load = [](uint32_t to, uint64_t rows) {
    Stream stream = results(12, rows);
    stream.push_back(mvin(kDram, to, 16, 16));
    const Stream others = results(20, rows);
    stream.insert(stream.end(), others.begin(), others.end());
    return warm(stream);
  };
  const uint64_t alone = warm(results(32, 16));
  CHECK_EQUAL(with_load(kAcc + kAccBank + 32, 16), alone);
  // A result a cycle: all 16 rows are written behind the last, and the load completes then.
  CHECK_EQUAL(with_load(kAcc + 32, 16), alone + 16 + 1);
  // New weights take 16 cycles, results of 8 rows half of them.
  CHECK_EQUAL(with_load(kAcc + 32, 8), warm(results(32, 8)));
});

const Test behind("timing/load: what comes behind such data waits as well", [] {
  const auto second_load = [](uint32_t first_to) {
    Stream stream = results(2, 16);
    stream.push_back(mvin(kDram, first_to, 16, 16));
    stream.push_back(mvin(kDram + 4096, 64, 16, 64));
    const Stream others = results(30, 16);
    stream.insert(stream.end(), others.begin(), others.end());
    // It is stored, which waits for it.
    stream.push_back(mvout(kDram + 8192, 64, 16, 64));
    return warm(stream);
  };
  CHECK(second_load(kAcc + 32) > second_load(kAcc + kAccBank + 32) + 64);
});

// Cycles of `stream` behind a fence, when a line at kDram is in the cache, and memory is far away.
uint64_t behind_a_fence(const Stream& stream) {
  Config config = timing_device();
  config.loads_in_flight = 2;
  config.memory_latency_cycles = 1000;
  Timing timing(config);
  for (const Command& command : usual_setup()) timing.issue(command, 1);
  timing.issue(mvin(kDram, 0, 1, 16), 1);
  const uint64_t start = timing.finish();
  for (const Command& command : stream) timing.issue(command, 1);
  return timing.finish() - start;
}

const Command kFromMemory = mvin(kDram + 4096, 16, 1, 16);
const Command kFromCache = mvin(kDram, 32, 1, 16);

const Test overtaking("timing/load: those that have their data make room for others", [] {
  Stream stream = {kFromMemory, kFromCache};
  const uint64_t two = behind_a_fence(stream);
  CHECK(two > 1000);
  // As many hits as go by while one line comes from memory.
  for (int i = 0; i < 6; ++i) stream.push_back(kFromCache);
  CHECK_EQUAL(behind_a_fence(stream), two);
  stream.push_back(mvin(kDram + 8192, 48, 1, 16));
  CHECK(behind_a_fence(stream) < two + 500);
});

const Test zeros_behind("timing/load: zeros are written behind the data of older loads", [] {
  const Command last = mvin(kDram + 8192, 48, 1, 16);
  const uint64_t hit = behind_a_fence({kFromMemory, kFromCache, last});
  const uint64_t zeros = behind_a_fence({kFromMemory, mvin(0, 32, 1, 16), last});
  CHECK(hit < 1500);
  CHECK(zeros > hit + 900);
  // With nothing before them they wait for nobody.
  CHECK(behind_a_fence({mvin(0, 32, 1, 16), kFromMemory, last}) <= hit);
});

}  // namespace
}  // namespace npu::gemmini::testing
