#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/memory_bus.h"
#include "gemmini/simulator/timing/stages.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

using timing::Cycle;
using timing::MemoryBus;

constexpr Cycle kLine = 8;   // 64 bytes at 8 a cycle
constexpr Cycle kPause = 5;  // between lines that are written
constexpr Cycle kSent = timing::kL2WriteBackStages + kLine;
constexpr Cycle kWritten = kSent + timing::kL2AcknowledgeStages;

Cycle written(MemoryBus& bus, uint64_t line, Cycle at) {
  return bus.acknowledged(bus.write(line, at));
}

const Test latency("timing/memory_bus: memory answers after its latency, or the DRAM's as well",
                   [] {
                     MemoryBus ideal(timing_device());
                     CHECK_EQUAL(ideal.data_from(0, 100), 105);
                     Config config = device();
                     config.dram_wake_clocks = 0;
                     MemoryBus ddr3(config);
                     // 24 clocks of 666.667 MHz at 500 MHz.
                     CHECK_EQUAL(ddr3.data_from(0, 100), 100 + config.memory_latency_cycles + 18);
                   });

const Test turns("timing/memory_bus: lines and messages take turns", [] {
  MemoryBus bus(timing_device());
  CHECK_EQUAL(bus.take_line(100), 100);
  CHECK_EQUAL(bus.take_line(103), 108);
  CHECK_EQUAL(bus.take_message_before(200, 103), 116);
  CHECK_EQUAL(bus.take_message_before(200, 103), 117);
  CHECK_EQUAL(bus.take_line(200), 200);
  // One that could not come in time leaves the way to others.
  for (int i = 0; i < 2; ++i) {
    CHECK_EQUAL(bus.take_message_before(0, 0), 0);
    CHECK_EQUAL(bus.take_message_before(118, 103), 118);
    CHECK_EQUAL(bus.take_message_before(208, 203), 208);
  }
  CHECK_EQUAL(bus.take_message_before(119, 103), 118);
  CHECK_EQUAL(bus.take_line(103), 119);
});

const Test grants("timing/memory_bus: a line waits while too many before it are not acknowledged",
                  [] {
                    MemoryBus bus(timing_device());
                    for (int64_t i = 0; i < timing::kL2Grants; ++i) {
                      CHECK_EQUAL(bus.take_line(100), 100 + kLine * i);
                      bus.acknowledge_grant(i == 3 ? 400 : 500);
                    }
                    CHECK_EQUAL(bus.take_line(100), 400 + timing::kL2GrantStages + 1);
                    bus.acknowledge_grant(600);
                    CHECK_EQUAL(bus.take_line(100), 500 + timing::kL2GrantStages + 1);
                    // An acknowledgement is no grant.
                    CHECK_EQUAL(bus.take_message_before(300, 200), 200);
                  });

const Test rate("timing/memory_bus: a line takes as long as the bus's rate says", [] {
  Config config = timing_device();
  config.memory_bytes_per_kilocycle = 4000;
  CHECK_EQUAL(MemoryBus(config).line_cycles(), 16);
  config.memory_bytes_per_kilocycle = 7800;  // rounded up
  CHECK_EQUAL(MemoryBus(config).line_cycles(), 9);
});

const Test writes("timing/memory_bus: lines that are written keep a pause between them", [] {
  MemoryBus bus(timing_device());
  CHECK_EQUAL(written(bus, 0, 100), 100 + kWritten);
  CHECK_EQUAL(written(bus, 1, 100), 100 + kWritten + kLine + kPause);
  CHECK_EQUAL(written(bus, 2, 200), 200 + kWritten);
  // The way from memory is another.
  CHECK_EQUAL(bus.take_line(100), 100);
});

const Test asked("timing/memory_bus: a request for a line waits until one that goes out is through",
                 [] {
                   const auto waits = [](Cycle after) {
                     MemoryBus bus(timing_device());
                     bus.write(0, 100);
                     const Cycle at = 100 + timing::kL2WriteBackStages + after;
                     return bus.data_from(8, at - timing::kL2AskStages) + timing::kL2AskStages -
                            at - timing_device().memory_latency_cycles;
                   };
                   CHECK_EQUAL(waits(-1), 0);
                   for (Cycle after = 0; after < kLine; ++after) {
                     CHECK_EQUAL(waits(after), kLine - after);
                   }
                   CHECK_EQUAL(waits(kLine), 0);
                   // Lines behind each other leave the pause.
                   MemoryBus bus(timing_device());
                   for (uint64_t line = 0; line < 6; ++line) bus.write(line, 100);
                   const Cycle last = 100 + timing::kL2WriteBackStages + 5 * (kLine + kPause);
                   const Cycle at = last - timing::kL2AskStages;
                   CHECK_EQUAL(bus.data_from(8, at), at + kLine + 5);
                   CHECK_EQUAL(bus.data_from(8, at - 1), at - 1 + 5);
                 });

const Test queue("timing/memory_bus: few lines wait for their turn to be written", [] {
  MemoryBus bus(timing_device());
  CHECK_EQUAL(bus.writable(), 0);
  bus.write(0, 100);
  const Cycle first = 100 + timing::kL2WriteBackStages + kLine + kPause;
  CHECK_EQUAL(bus.writable(), first - timing::kL2WriteBackQueueCycles);
  bus.write(1, 100);
  CHECK_EQUAL(bus.writable(), first + kLine + kPause - timing::kL2WriteBackQueueCycles);
});

const Test acknowledged("timing/memory_bus: a write is acknowledged when the DRAM has it", [] {
  Config config = device();
  config.dram_clock_khz = config.clock_khz;
  config.dram_wake_clocks = 0;
  MemoryBus bus(config);
  CHECK_EQUAL(written(bus, 0, 100), 100 + kWritten + 10 + 9 + 4);
  // No earlier than the command's latency after it has come.
  CHECK_EQUAL(bus.write(1, 200).acknowledged_from, 200 + kWritten + 9 + 4);
});

}  // namespace
}  // namespace npu::gemmini::testing
