#include "../check.h"
#include "stream.h"
#include "timing/l2.h"

namespace npu::sim::testing {
namespace {

using timing::Cycle;
using timing::L2;

constexpr Cycle kHit = 11;
constexpr Cycle kMiss = 11 + 1 + 8;  // memory latency, then 64 bytes at 8 a cycle

const Test hit("timing/l2: the first touch of a line misses, the next hits", [] {
  L2 l2(timing_device());
  CHECK_EQUAL(l2.read(kDram, 64, 100), 100 + kMiss);
  CHECK_EQUAL(l2.read(kDram, 64, 200), 200 + kHit);
  CHECK_EQUAL(l2.read(kDram + 48, 16, 300), 300 + kHit);
  CHECK_EQUAL(l2.read(kDram + 64, 16, 400), 400 + kMiss);
  CHECK_EQUAL(l2.hits(), 2);
  CHECK_EQUAL(l2.misses(), 2);
});

const Test in_flight("timing/l2: a line that is on its way is waited for", [] {
  L2 l2(timing_device());
  CHECK_EQUAL(l2.read(kDram, 16, 100), 100 + kMiss);
  CHECK_EQUAL(l2.read(kDram + 16, 16, 101), 100 + kMiss);
  CHECK_EQUAL(l2.read(kDram + 32, 16, 100 + kMiss - kHit), 100 + kMiss);
  CHECK_EQUAL(l2.read(kDram + 32, 16, 101 + kMiss - kHit), 101 + kMiss);
});

const Test bandwidth("timing/l2: lines come one after another at the memory's bandwidth", [] {
  Config config = timing_device();
  L2 fast(config);
  config.memory_bytes_per_kilocycle = 4000;
  L2 slow(config);
  for (Cycle i = 0; i < 16; ++i) {
    const uint64_t address = kDram + 64 * static_cast<uint64_t>(i);
    CHECK_EQUAL(fast.read(address, 64, i), kMiss + 8 * i);
    CHECK_EQUAL(slow.read(address, 64, i), kMiss + 8 + 16 * i);
  }
});

const Test latency("timing/l2: the memory's latency is paid once in a stream", [] {
  Config config = timing_device();
  config.memory_latency_cycles = 24;
  L2 l2(config);
  CHECK_EQUAL(l2.read(kDram, 64, 0), kMiss + 23);
  CHECK_EQUAL(l2.read(kDram + 64, 64, 1), kMiss + 23 + 8);
});

const Test two_lines("timing/l2: a request across two lines waits for both", [] {
  L2 l2(timing_device());
  CHECK_EQUAL(l2.read(kDram, 128, 0), kMiss + 8);
  CHECK_EQUAL(l2.misses(), 2);
});

const Test full_write("timing/l2: a write of a whole line fetches nothing, of less it does", [] {
  L2 l2(timing_device());
  CHECK_EQUAL(l2.write(kDram, 64, false, 100), 100 + kHit);
  CHECK_EQUAL(l2.write(kDram + 64, 64, true, 200), 200 + kMiss);
  CHECK_EQUAL(l2.write(kDram + 128, 16, false, 300), 300 + kMiss);
  CHECK_EQUAL(l2.read(kDram, 64, 400), 400 + kHit);
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
  CHECK_EQUAL(l2.read(kDram, 64, 0), kMiss);
  CHECK_EQUAL(l2.read(kDram + 64, 64, 100), 100 + kMiss);
  CHECK_EQUAL(l2.read(kDram, 64, 200), 200 + kMiss);
  CHECK_EQUAL(l2.hits(), 0);
});

const Test dirty("timing/l2: a dirty victim is written back before its line is used again", [] {
  Config config = one_line();
  config.memory_bytes_per_kilocycle = 1000;  // 64 cycles a line
  L2 clean(config);
  L2 written(config);
  clean.read(kDram, 64, 0);
  written.write(kDram, 64, false, 0);
  // Nothing to fetch: only the write-back takes time.
  CHECK_EQUAL(clean.write(kDram + 64, 64, false, 500), 500 + kHit);
  CHECK_EQUAL(written.write(kDram + 64, 64, false, 500), 500 + 64 + kHit);
  // A line that was only read is not written back, whatever its place held before.
  CHECK_EQUAL(written.read(kDram, 64, 1000), 1000 + 1 + 64 + kHit);
  CHECK_EQUAL(written.write(kDram + 64, 64, false, 2000), 2000 + kHit);
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
                            l2.read(kDram + static_cast<uint64_t>(at), 64, at);
                          }
                        }
                        return l2.misses() - before;
                      };
                      CHECK_EQUAL(misses_of_second_pass(config.l2_bytes / 2), 0);
                      CHECK(misses_of_second_pass(config.l2_bytes * 2) > config.l2_bytes / 64);
                    });

const Test forget("timing/l2: an invalidated cache is cold", [] {
  L2 l2(timing_device());
  l2.read(kDram, 64, 0);
  l2.invalidate();
  CHECK_EQUAL(l2.read(kDram, 64, 100), 100 + kMiss);
});

}  // namespace
}  // namespace npu::sim::testing
