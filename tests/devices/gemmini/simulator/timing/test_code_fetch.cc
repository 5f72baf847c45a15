// The host's code through the L2: alone, and beside loads.
#include "gemmini/simulator/timing/code_fetch.h"

#include <cstdint>

#include "gemmini/simulator/timing/l2.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

using timing::CodeFetch;
using timing::Cycle;
using timing::L2;

const Test alone("code fetch: with nobody else under way nothing is added", [] {
  for (const Config& config : {device(), timing_device()}) {
    const CodeFetch code(config);
    L2 l2(config);
    Cycle at = 0;  // the DRAM refreshes at 3,900
    for (const bool is_new : {true, false}) {
      for (uint32_t line = 0; line < 24; ++line) {
        CHECK_EQUAL(code.delay(l2, line, is_new, at), 0);
        at += 65;  // as measured of code that runs once over DDR3
      }
    }
    CHECK_EQUAL(l2.misses(), 24);
  }
});

const Test idle("code fetch: what the device says of an idle memory follows from the L2", [] {
  // A line's way from the cache to the core is 5 cycles shorter than one's to the DMA. Until it is
  // there the core tries again every second cycle, and then takes 7 cycles to where it was.
  const auto waits = [](const Config& config) {
    const Cycle beats = config.l2_line_bytes / config.bus_bytes;
    const Cycle there = L2(config).read(0, config.l2_line_bytes, 0, 0) + beats - 5;
    return 7 + (there + 1) / 2 * 2;
  };
  CHECK_EQUAL(waits(device()), device().host_icache_miss_cycles);
  CHECK_EQUAL(waits(timing_device()), 27);  // as measured over a memory of one cycle
});

const Test beside("code fetch: it waits for those in the cache and one at its door", [] {
  // Beside loads from memory that keep all MSHRs busy it was measured to wait 49 to 58 cycles
  // longer, most of the time: as long as they take to go through the cache, and not for the other
  // requests that wait with it. The host is ahead of the loads that it has issued.
  for (const uint64_t begin : {100, 200, 400, 800}) {
    Timing timing(device());
    for (const Command& command : usual_setup()) timing.issue(command, 1);
    timing.finish();
    for (uint32_t i = 0; i < 16; ++i) timing.issue(mvin(kDram + i * 1024, 16 * (i % 4), 16, 64), 1);
    uint64_t since = begin;
    for (uint32_t line = 0; line < 8; ++line) {
      const uint64_t delay = timing.delay_code(line, true, since);
      CHECK(delay >= 30 && delay <= 58);
      since += delay + 65;
    }
  }
});

const Test others("code fetch: the loads beside it come later", [] {
  const auto cycles = [](uint32_t lines) {
    Timing timing(device());
    for (const Command& command : usual_setup()) timing.issue(command, 1);
    const uint64_t start = timing.finish();
    for (uint32_t i = 0; i < 16; ++i) timing.issue(mvin(kDram + i * 1024, 16 * (i % 4), 16, 64), 1);
    for (uint32_t line = 0; line < lines; ++line) timing.delay_code(line, true, 100 + 120 * line);
    timing.issue(mvin(kDram + 16 * 1024, 0, 16, 64), 1);
    return timing.finish() - start;
  };
  // Each takes a line's time of the bus.
  const uint64_t later = cycles(8) - cycles(0);
  CHECK(later >= 8 * 7 && later <= 8 * 10);
});

}  // namespace
}  // namespace npu::gemmini::testing
