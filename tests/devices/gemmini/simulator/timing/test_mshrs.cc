#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/mshrs.h"
#include "gemmini/simulator/timing/stages.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

using timing::Cycle;
using timing::kNever;
using timing::MemoryBus;
using timing::Mshrs;

constexpr uint64_t kSets = 16;

struct Unit {
  explicit Unit(int64_t count)
      : bus(timing_device()),
        data(bus.line_cycles(), timing::to_ticks(100)),
        mshrs(count, bus, data) {}

  // A request to `line` at `at`, done in cycle `done`. Returns when it has its register.
  Cycle request(uint64_t line, Cycle at, Cycle done) {
    mshrs.complete(mshrs.allocate(line, line % kSets, at), done, false);
    return at;
  }
  // One that misses, of which the line is there in cycle `done`.
  Cycle miss(uint64_t line, Cycle at, Cycle done) {
    mshrs.complete(mshrs.allocate(line, line % kSets, at), done, true);
    return at;
  }
  // One that evicts a line, which is acknowledged at `acknowledged`: by memory, to which it is
  // written, or if it was not written to on its way there.
  Cycle evict(uint64_t line, Cycle at, Cycle done, Cycle acknowledged, bool is_dirty = true) {
    const Mshrs::Id id = mshrs.allocate(line, line % kSets, at);
    if (is_dirty) {
      mshrs.writes_back(id, {acknowledged, 0});
    } else {
      mshrs.evicts(id, acknowledged);
    }
    mshrs.complete(id, done, true);
    return at;
  }

  // One that writes a whole line when memory permits it at `permitted`.
  Cycle write(uint64_t line, Cycle at, Cycle permitted) {
    const Mshrs::Id id = mshrs.allocate(line, line % kSets, at);
    mshrs.writes(id, permitted, at, timing::to_ticks(4));
    return at;
  }

  // When a message that is ready then could come.
  Cycle first_free(Cycle ready) { return bus.take_message_before(ready, ready); }

  MemoryBus bus;
  timing::DataPipeline data;
  Mshrs mshrs;
};

const Test count("timing/mshrs: a request waits for a free one", [] {
  Unit unit(2);
  CHECK_EQUAL(unit.request(0, 100, 200), 100);
  CHECK_EQUAL(unit.request(1, 100, 150), 100);
  CHECK_EQUAL(unit.request(2, 100, 300), 150 + timing::kL2TurnStages);
  CHECK_EQUAL(unit.request(3, 100, 300), 200 + timing::kL2TurnStages);
  // One that is free long enough costs nothing.
  CHECK_EQUAL(unit.request(4, 300 + timing::kL2TurnStages, 400), 300 + timing::kL2TurnStages);
  CHECK_EQUAL(unit.request(5, 299 + timing::kL2TurnStages, 400), 300 + timing::kL2TurnStages);
});

const Test set("timing/mshrs: of a set one is under way at a time", [] {
  Unit unit(4);
  unit.request(3, 100, 200);
  CHECK_EQUAL(unit.request(4, 110, 120), 110);
  CHECK_EQUAL(unit.request(3 + kSets, 110, 250), 200 + timing::kL2SameSetStages);
  CHECK_EQUAL(unit.request(3 + kSets, 110, 300), 250 + timing::kL2SameLineStages);
  CHECK_EQUAL(unit.request(3, 300, 400), 300);
});

const Test behind_miss(
    "timing/mshrs: behind a miss the next of the set is looked up in its last turn", [] {
      Unit unit(4);
      unit.miss(3, 100, 200);
      CHECK_EQUAL(unit.request(3 + kSets, 110, 250), 200 + timing::kL2SetOfMissStages);
      // That was a hit.
      CHECK_EQUAL(unit.request(3 + 2 * kSets, 110, 300), 250 + timing::kL2SameSetStages);
      // The same line needs no lookup, behind either.
      unit.miss(4, 100, 200);
      CHECK_EQUAL(unit.request(4, 110, 250), 200 + timing::kL2SameLineStages);
      CHECK_EQUAL(unit.request(4, 110, 300), 250 + timing::kL2SameLineStages);
      // So behind a permission: 110, and a cycle for its way.
      unit.write(5, 100, 110);
      CHECK_EQUAL(unit.request(5 + kSets, 100, 300),
                  111 + timing::kL2DoneStages + timing::kL2SetOfMissStages);
    });

const Test other_sets("timing/mshrs: no other set is waited for", [] {
  const auto request = [](uint64_t first_set, uint64_t second_set) {
    Unit unit(4);
    Cycle at = 100;
    unit.mshrs.complete(unit.mshrs.allocate(0, first_set, at), 500, false);
    at = 100;
    unit.mshrs.allocate(1, second_set, at);
    CHECK_EQUAL(unit.mshrs.waited_for_set(), first_set == second_set);
    return at;
  };
  for (uint64_t shift = 1; shift < 40; ++shift) {
    const uint64_t set = 3 + (uint64_t{1} << shift);
    CHECK_EQUAL(request(3, set), 100);
    CHECK_EQUAL(request(set, 3), 100);
    CHECK_EQUAL(request(set, set), 500 + timing::kL2SameSetStages);
  }
});

const Test in_order(
    "timing/mshrs: the one that is free first is taken first, however it became free", [] {
      Unit unit(3);
      unit.evict(0, 100, 150, 400);  // free at 401
      unit.request(1, 100, 300);
      unit.request(2, 100, 200);
      CHECK_EQUAL(unit.request(3, 100, 900), 200 + timing::kL2TurnStages);
      CHECK_EQUAL(unit.request(4, 100, 900), 300 + timing::kL2TurnStages);
      CHECK_EQUAL(unit.request(5, 100, 900), 401 + timing::kL2TurnStages);
      // A message that comes before any is free makes another one so.
      Unit early(2);
      early.request(0, 100, 300);
      early.evict(1, 100, 150, 200);
      CHECK_EQUAL(early.request(2, 100, 900), 201 + timing::kL2TurnStages);
      CHECK_EQUAL(early.request(3, 100, 900), 300 + timing::kL2TurnStages);
    });

const Test early_message(
    "timing/mshrs: a message that comes before its request is done frees nobody", [] {
      Unit unit(1);
      Cycle at = 100;
      const Mshrs::Id id = unit.mshrs.allocate(0, 0, at);
      unit.mshrs.evicts(id, 110);
      unit.mshrs.receive_until(120);
      CHECK_EQUAL(unit.first_free(110), 111);
      unit.mshrs.complete(id, 130, true);
      CHECK_EQUAL(unit.request(1, 100, 200), 130 + timing::kL2TurnStages);
    });

const Test takes_over("timing/mshrs: who waits for a set takes over the register", [] {
  Unit unit(2);
  unit.request(0, 100, 200);
  unit.request(kSets, 100, 300);
  // The other one is free.
  CHECK_EQUAL(unit.request(1, 100, 200), 100);
});

const Test acknowledgement("timing/mshrs: what evicts waits for the acknowledgement", [] {
  Unit unit(1);
  unit.evict(0, 100, 150, 180);
  CHECK_EQUAL(unit.request(1, 100, 300), 181 + timing::kL2TurnStages);
  Unit early(1);
  early.evict(0, 100, 150, 120);
  CHECK_EQUAL(early.request(1, 100, 300), 150 + timing::kL2TurnStages);
});

const Test bus_taken("timing/mshrs: acknowledgements come when no line takes the bus", [] {
  Unit unit(1);
  unit.evict(0, 100, 150, 120);
  unit.bus.take_line(118);
  CHECK_EQUAL(unit.request(1, 100, 300), 150 + timing::kL2TurnStages);
  unit.evict(2, 400, 420, 410);
  for (int i = 0; i < 4; ++i) unit.bus.take_line(405);
  CHECK_EQUAL(unit.request(3, 400, 500), 405 + 32 + 1 + timing::kL2TurnStages);
});

const Test before("timing/mshrs: acknowledgements that fit before a line go first", [] {
  Unit unit(2);
  unit.evict(0, 100, 150, 120);
  unit.evict(1, 100, 150, 120);
  unit.mshrs.receive_until(121);
  CHECK_EQUAL(unit.first_free(120), 121);  // one of them
  CHECK_EQUAL(unit.mshrs.quiet(), kNever);
  unit.mshrs.receive_until(122);
  CHECK_EQUAL(unit.first_free(120), 122);
  CHECK_EQUAL(unit.mshrs.quiet(), 150);
});

const Test quiet("timing/mshrs: the last to be free tells when all is quiet", [] {
  Unit unit(4);
  CHECK_EQUAL(unit.mshrs.quiet(), 0);
  unit.request(0, 100, 300);
  unit.request(1, 100, 200);
  CHECK_EQUAL(unit.mshrs.quiet(), 300);
});

const Test permission("timing/mshrs: a permission comes when no line and no acknowledgement does",
                      [] {
                        Unit unit(2);
                        unit.write(0, 100, 110);
                        unit.bus.take_line(108);
                        unit.evict(1, 100, 105, 112);
                        unit.mshrs.receive_until(117);
                        CHECK_EQUAL(unit.first_free(110),
                                    117);  // the acknowledgement came in 116
                        unit.mshrs.receive_until(118);
                        CHECK_EQUAL(unit.first_free(110), 118);
                        CHECK_EQUAL(unit.mshrs.settle(), 118 + 4 - 1);
                      });

const Test grants("timing/mshrs: a permission is a grant, which its data's turn acknowledges", [] {
  Unit unit(2);
  for (int64_t i = 0; i < timing::kL2Grants; ++i) unit.bus.acknowledge_grant(200);
  unit.write(0, 100, 110);
  unit.evict(1, 100, 105, 112);
  // An acknowledgement does not wait for it.
  unit.mshrs.receive_until(150);
  CHECK_EQUAL(unit.first_free(112), 113);
  const Cycle turn = 200 + timing::kL2GrantStages + 2;
  CHECK_EQUAL(unit.mshrs.settle(), turn + 4 - 1);
  for (int64_t i = 1; i < timing::kL2Grants; ++i) unit.bus.acknowledge_grant(500);
  CHECK_EQUAL(unit.bus.grants_from(), turn + timing::kL2GrantStages + 1);
});

const Test two_permissions("timing/mshrs: what is asked of memory waits behind a third permission",
                           [] {
                             Unit unit(8);
                             unit.bus.take_line(95);
                             const Cycle come = 95 + unit.bus.line_cycles();
                             for (uint64_t line = 0; line < timing::kL2PermissionsWaiting; ++line) {
                               CHECK_EQUAL(unit.mshrs.ask_from(90, true), 90);
                               unit.write(line, 90, 96);
                             }
                             // Lines pass those two.
                             CHECK_EQUAL(unit.mshrs.ask_from(91, false), 91);
                             // The third is there when the first has come, and lines behind it
                             // wait.
                             const Cycle asked = come + 1 - timing::kL2PermissionStages;
                             CHECK_EQUAL(unit.mshrs.ask_from(91, true), asked);
                             CHECK_EQUAL(unit.mshrs.ask_from(91, false), asked);
                             CHECK_EQUAL(unit.mshrs.ask_from(asked + 5, false), asked + 5);
                           });

const Test clean("timing/mshrs: evictions wait behind those of lines that were not written to", [] {
  Unit unit(16);
  unit.bus.take_line(95);
  const Cycle come = 95 + unit.bus.line_cycles();
  for (uint64_t line = 0; line < timing::kL2CleanReleases; ++line) {
    CHECK_EQUAL(unit.mshrs.evict_from(90), 90);
    unit.evict(line, 90, 95, 96, false);
  }
  const Cycle evicted = come + 1 + timing::kL2CleanStages;
  CHECK_EQUAL(unit.mshrs.evict_from(90), evicted);
  // Others are behind it.
  CHECK_EQUAL(unit.mshrs.evict_from(90), evicted);
  CHECK_EQUAL(unit.mshrs.evict_from(evicted + 5), evicted + 5);
});

const Test write_back(
    "timing/mshrs: a line is written back behind those that wait for their acknowledgements", [] {
      Unit unit(16);
      unit.bus.take_line(95);
      CHECK_EQUAL(unit.mshrs.write_back_from(91), 91);
      unit.evict(8, 90, 95, 94, true);
      CHECK_EQUAL(unit.mshrs.write_back_from(91), 91);
      unit.evict(9, 90, 95, 96, false);
      unit.evict(10, 90, 95, 96, false);
      // The line that comes takes the bus, then they do; the other one came before it.
      CHECK_EQUAL(unit.mshrs.write_back_from(91), 95 + unit.bus.line_cycles() + 2 + 1);
      CHECK_EQUAL(unit.mshrs.write_back_from(91), 91);
    });

const Test asked_late("timing/mshrs: memory is asked when a line was written once that is awaited",
                      [] {
                        Config config = device();
                        config.dram_clock_khz = config.clock_khz;
                        config.dram_wake_clocks = 0;
                        MemoryBus bus(config);
                        timing::DataPipeline data(bus.line_cycles(), timing::to_ticks(100));
                        Mshrs mshrs(1, bus, data);
                        Cycle at = 100;
                        const Mshrs::Id id = mshrs.allocate(0, 0, at);
                        const MemoryBus::WriteBack write = bus.write(0, at);
                        mshrs.writes_back(id, write);
                        mshrs.complete(id, at, true);
                        // One that is read before keeps the row: 34 clocks and the write's own.
                        constexpr uint64_t kNextRow = 8 * 256;
                        bus.data_from(kNextRow + 1, 90);
                        mshrs.allocate(1, 1, at);
                        const Cycle written = 90 + config.memory_latency_cycles + 34 + 10 + 9 + 4;
                        CHECK_EQUAL(
                            at, written + timing::kL2AcknowledgeStages + 1 + timing::kL2TurnStages);
                      });

}  // namespace
}  // namespace npu::gemmini::testing
