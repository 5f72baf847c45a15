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
  explicit Unit(int64_t count) : bus(timing_device()), mshrs(count, bus) {}

  // A request to `line` at `at`, done in cycle `done`. Returns when it has its register.
  Cycle request(uint64_t line, Cycle at, Cycle done) {
    mshrs.complete(mshrs.allocate(line, line % kSets, at), done);
    return at;
  }
  // One that evicts a line, which memory acknowledges at `acknowledged`.
  Cycle evict(uint64_t line, Cycle at, Cycle done, Cycle acknowledged) {
    const Mshrs::Id id = mshrs.allocate(line, line % kSets, at);
    mshrs.evicts(id, acknowledged);
    mshrs.complete(id, done);
    return at;
  }

  MemoryBus bus;
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
  unit.mshrs.acknowledge_until(121);
  CHECK_EQUAL(unit.bus.first_free(120), 121);  // one of them
  CHECK_EQUAL(unit.mshrs.quiet(), kNever);
  unit.mshrs.acknowledge_until(122);
  CHECK_EQUAL(unit.bus.first_free(120), 122);
  CHECK_EQUAL(unit.mshrs.quiet(), 150);
});

const Test quiet("timing/mshrs: the last to be free tells when all is quiet", [] {
  Unit unit(4);
  CHECK_EQUAL(unit.mshrs.quiet(), 0);
  unit.request(0, 100, 300);
  unit.request(1, 100, 200);
  CHECK_EQUAL(unit.mshrs.quiet(), 300);
});

}  // namespace
}  // namespace npu::gemmini::testing
