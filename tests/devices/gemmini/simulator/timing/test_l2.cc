#include <algorithm>

#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/l2.h"
#include "gemmini/simulator/timing/stages.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

using timing::Cycle;
using timing::L2;

constexpr Cycle kHit = 11;
constexpr Cycle kLine = 8;  // 64 bytes at 8 a cycle
constexpr Cycle kBeats = 4;
constexpr Cycle kLatency = 5;
// The last beat follows the line's end.
constexpr Cycle kMiss = kHit + kLatency + kLine - kBeats;

Cycle read(L2& l2, uint64_t address, int64_t bytes, Cycle at) {
  return l2.read(address, bytes, at, 0);
}

// Nothing else comes until it is acknowledged.
Cycle write(L2& l2, uint64_t address, int64_t bytes, bool is_partial, Cycle at) {
  const int64_t beats = std::max<int64_t>(1, bytes / 16);
  const Cycle expected = l2.write(address, bytes, is_partial, at - (beats - 1), at).acknowledged;
  return std::max(expected, l2.settle());
}

const Test hit("timing/l2: the first touch of a line misses, the next hits", [] {
  L2 l2(timing_device());
  CHECK_EQUAL(read(l2, kDram, 64, 100), 100 + kMiss);
  CHECK_EQUAL(read(l2, kDram, 64, 200), 200 + kHit);
  CHECK_EQUAL(read(l2, kDram + 48, 16, 300), 300 + kHit);
  CHECK_EQUAL(read(l2, kDram + 64, 64, 400), 400 + kMiss);
  CHECK_EQUAL(l2.hits(), 2);
  CHECK_EQUAL(l2.misses(), 2);
});

const Test in_flight("timing/l2: a line that is on its way is waited for", [] {
  L2 l2(timing_device());
  CHECK_EQUAL(read(l2, kDram, 64, 100), 100 + kMiss);
  const Cycle there = 100 + kHit + kLatency + kLine + timing::kL2DoneStages;
  CHECK_EQUAL(read(l2, kDram + 16, 16, 101), there + timing::kL2SameLineStages);
  CHECK_EQUAL(read(l2, kDram + 32, 16, 200), 200 + kHit);
});

const Test part("timing/l2: a part of a line waits for itself if it comes first, else for all", [] {
  L2 l2(timing_device());
  const Cycle first = 100 + kHit + kLatency;
  CHECK_EQUAL(read(l2, kDram, 16, 100), first + kLine / kBeats - 1);
  CHECK_EQUAL(read(l2, kDram + 64 + 16, 16, 200), 200 + kHit + kLatency + kLine);
});

const Test overtakes("timing/l2: a hit overtakes a miss, and nothing else does it", [] {
  Config config = timing_device();
  config.memory_latency_cycles = 100;
  L2 l2(config);
  read(l2, kDram, 64, 0);
  const Cycle missed = read(l2, kDram + 64, 64, 1000);
  CHECK_EQUAL(missed, 1000 + kMiss + 100 - kLatency);
  CHECK_EQUAL(read(l2, kDram, 64, 1001), 1001 + kHit);
  CHECK_EQUAL(read(l2, kDram, 64, 1002), 1001 + kHit + kBeats);
  // It does not where the reader takes data in their order.
  CHECK_EQUAL(l2.read(kDram, 64, 1003, missed + 100), missed + 100);
});

const Test pipeline("timing/l2: hits leave a beat per cycle, and wait for a reader", [] {
  L2 l2(timing_device());
  read(l2, kDram, 64, 0);
  CHECK_EQUAL(read(l2, kDram, 64, 100), 100 + kHit);
  CHECK_EQUAL(read(l2, kDram, 64, 101), 100 + kHit + 4);
  CHECK_EQUAL(read(l2, kDram, 16, 102), 100 + kHit + 8);
  CHECK_EQUAL(l2.read(kDram, 64, 200, 240), 240);
  CHECK_EQUAL(read(l2, kDram, 64, 201), 244);
});

const Test bandwidth("timing/l2: lines come one after another at the memory's bandwidth", [] {
  Config config = timing_device();
  L2 fast(config);
  config.memory_bytes_per_kilocycle = 4000;
  L2 slow(config);
  for (Cycle i = 0; i < 8; ++i) {
    const uint64_t address = kDram + 64 * static_cast<uint64_t>(i);
    CHECK_EQUAL(read(fast, address, 64, i), kMiss + 8 * i);
    CHECK_EQUAL(read(slow, address, 64, i), kMiss + 8 + 16 * i);
  }
});

const Test latency("timing/l2: the memory's latency is paid once in a stream", [] {
  Config config = timing_device();
  config.memory_latency_cycles = kLatency + 20;
  L2 l2(config);
  CHECK_EQUAL(read(l2, kDram, 64, 0), kMiss + 20);
  CHECK_EQUAL(read(l2, kDram + 64, 64, 1), kMiss + 20 + 8);
});

const Test many("timing/l2: more misses than there are MSHRs wait", [] {
  Config config = timing_device();
  config.memory_latency_cycles = 200;
  const auto last_of = [&](int64_t mshrs) {
    config.l2_mshrs = mshrs;
    L2 l2(config);
    Cycle last = 0;
    for (Cycle i = 0; i < 4; ++i) last = read(l2, kDram + 64 * static_cast<uint64_t>(i), 64, i);
    return last;
  };
  CHECK_EQUAL(last_of(4), last_of(10));
  CHECK(last_of(3) > last_of(4) + 180);
});

const Test one_of_a_set("timing/l2: misses of one set come one after another", [] {
  const auto second = [](uint64_t apart) {
    L2 l2(timing_device());
    read(l2, kDram, 64, 0);
    return read(l2, kDram + apart, 64, 1);
  };
  CHECK_EQUAL(second(65536 - 64), kMiss + kLine);
  CHECK(second(65536) > 2 * kMiss - kHit);
});

const Test fills("timing/l2: a line that comes in takes cycles from the hits", [] {
  L2 l2(timing_device());
  for (uint64_t i = 0; i < 8; ++i) read(l2, kDram + 64 * i, 64, 0);
  // Eight hits of four beats, then a miss that takes almost twice as many cycles.
  Cycle last = 0;
  for (uint64_t i = 0; i < 8; ++i) last = read(l2, kDram + 64 * i, 64, 1000);
  CHECK_EQUAL(last, 1000 + kHit + 7 * 4);
  const Cycle missed = read(l2, kDram + 4096, 64, 1000);
  CHECK(missed > last + 4 + 2 && missed <= last + 4 + 4);
});

const Test not_waiting(
    "timing/l2: a hit goes before data that are not there yet, however soon they come", [] {
      // A hit whose data are ready so long before a line from memory is there.
      const auto hit = [](Cycle before) {
        L2 l2(timing_device());
        read(l2, kDram, 64, 0);
        const Cycle missed = 1000 + kHit + kLatency;
        CHECK_EQUAL(read(l2, kDram + 4096, 64, 1000), 1000 + kMiss);
        return read(l2, kDram, 64, missed - before - kHit) - missed;
      };
      for (Cycle before = 1; before < 5; ++before) {
        CHECK_EQUAL(hit(before), -before);
      }
      // One that is ready no earlier follows it.
      CHECK(hit(0) >= kLine - kBeats);
    });

const Test hidden("timing/l2: it takes none while the pipeline waits for a reader", [] {
  L2 l2(timing_device());
  CHECK_EQUAL(l2.read(kDram, 64, 1000, 1100), 1100);
  CHECK_EQUAL(read(l2, kDram + 4096, 64, 1000), 1104);
});

const Test grants("timing/l2: lines that nobody takes keep a permission from coming", [] {
  constexpr Cycle kTaken = 1000;
  // A write behind so many lines, of which the reader takes the first at kTaken.
  const auto write_behind = [&](int64_t lines, uint64_t offset) {
    L2 l2(timing_device());
    for (int64_t i = 0; i < lines; ++i) {
      l2.read(kDram + 64 * static_cast<uint64_t>(i) + offset, 16, 100 + i, kTaken);
    }
    return write(l2, kDram + 8192, 64, false, 300);
  };
  CHECK(write_behind(timing::kL2Grants - 1, 0) < kTaken);
  CHECK(write_behind(timing::kL2Grants, 0) > kTaken);
  // Whose data have to wait for all of the line is acknowledged before them.
  CHECK(write_behind(timing::kL2Grants, 16) < kTaken);
});

const Test two_lines("timing/l2: a request across two lines waits for both", [] {
  L2 l2(timing_device());
  CHECK_EQUAL(read(l2, kDram, 128, 0), kMiss + 8 - 4);
  CHECK_EQUAL(l2.misses(), 2);
  CHECK_EQUAL(read(l2, kDram, 128, 100), 100 + kHit);
});

const Test full_write("timing/l2: a write of a whole line fetches nothing, of less it does", [] {
  L2 l2(timing_device());
  const Cycle permitted = timing::kL2PermissionStages + 1;
  CHECK_EQUAL(write(l2, kDram, 64, false, 100), 100 + kHit + permitted);
  CHECK_EQUAL(write(l2, kDram + 64, 64, true, 200), 200 + kMiss);
  // As soon as its own beat has come.
  CHECK_EQUAL(write(l2, kDram + 128, 16, false, 300), 300 + kHit + kLatency + kLine / kBeats - 1);
  CHECK_EQUAL(read(l2, kDram, 64, 400), 400 + kHit);
  CHECK_EQUAL(write(l2, kDram, 64, false, 500), 500 + kHit);
  CHECK(write(l2, kDram + 4096, 128, false, 600) > 600 + kHit + permitted);
});

const Test partial_write(
    "timing/l2: a write with bytes left out reads its beats, which takes a part of each", [] {
      constexpr int64_t kWrittenBeats = 32;
      // The last of such writes, a beat a cycle.
      const auto last = [](int64_t beats, bool is_partial) {
        L2 l2(timing_device());
        for (int i = 0; i < kWrittenBeats; ++i) {
          read(l2, kDram + static_cast<uint64_t>(64 * i), 64, 0);
        }
        Cycle end = 0;
        for (int64_t i = 0; i < kWrittenBeats / beats; ++i) {
          end = write(l2, kDram + static_cast<uint64_t>(64 * i), 16 * beats, is_partial,
                      10000 + i * beats);
        }
        return end;
      };
      const Cycle more = timing::cycle_of(kWrittenBeats * timing::kL2PartialBeatTicks);
      CHECK(more > 1);
      CHECK_EQUAL(last(1, true), last(1, false) + more);
      CHECK_EQUAL(last(4, true), last(4, false) + more);
    });

const Test in_turns("timing/l2: a write does not wait for all reads that are under way", [] {
  L2 l2(timing_device());
  for (uint64_t i = 0; i < 9; ++i) read(l2, kDram + 64 * i, 64, 0);
  for (uint64_t i = 0; i < 8; ++i) read(l2, kDram + 64 * i, 64, 1000);
  CHECK_EQUAL(write(l2, kDram + 512, 64, false, 1003), 1003 + kHit + kLine);
  // They go on behind it.
  CHECK_EQUAL(read(l2, kDram, 64, 1000), 1000 + kHit + 9 * 4);
});

// A cache of one line.
Config one_line() {
  Config config = timing_device();
  config.l2_ways = 1;
  config.l2_bytes = 64;
  return config;
}

const Test eviction("timing/l2: what does not fit goes, and comes back from memory", [] {
  L2 l2(one_line());
  CHECK_EQUAL(read(l2, kDram, 64, 0), kMiss);
  // The eviction takes something of its own.
  const Cycle evicting = read(l2, kDram + 64, 64, 100) - 100;
  CHECK(evicting > kMiss && evicting < kMiss + 4);
  CHECK_EQUAL(read(l2, kDram, 64, 200), 200 + evicting);
  CHECK_EQUAL(l2.hits(), 0);
});

const Test dirty("timing/l2: a dirty victim is written back, and its register waits for that", [] {
  Config config = one_line();
  config.l2_mshrs = 1;
  config.memory_write_pause_cycles = 100;
  const auto third = [&](bool is_written) {
    L2 l2(config);
    if (is_written) {
      write(l2, kDram, 64, false, 0);
    } else {
      read(l2, kDram, 64, 0);
    }
    read(l2, kDram + 64, 64, 500);
    return read(l2, kDram + 128, 64, 500);
  };
  const Cycle clean = third(false);
  CHECK(third(true) >= clean);
  config.memory_bytes_per_kilocycle = 1000;  // 64 cycles a line
  CHECK(third(true) > third(false));
});

const Test capacity("timing/l2: a working set of half the cache stays, of twice the cache does not",
                    [] {
                      const Config config = timing_device();
                      const auto misses_of_second_pass = [&](int64_t bytes) {
                        L2 l2(config);
                        int64_t before = 0;
                        // Victims are random: give lines a few passes to find their places.
                        for (int pass = 0; pass < 8; ++pass) {
                          before = l2.misses();
                          for (int64_t at = 0; at < bytes; at += 64) {
                            read(l2, kDram + static_cast<uint64_t>(at), 64, at);
                          }
                        }
                        return l2.misses() - before;
                      };
                      CHECK_EQUAL(misses_of_second_pass(config.l2_bytes / 2), 0);
                      CHECK(misses_of_second_pass(config.l2_bytes * 2) > config.l2_bytes / 64);
                    });

}  // namespace
}  // namespace npu::gemmini::testing
