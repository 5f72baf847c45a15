#include "gemmini/simulator/timing/door.h"

#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/stages.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

using timing::Cycle;
using timing::Door;

// Reads that leave every tenth cycle, from 110 on.
Door with_reads(int count) {
  Door door;
  for (int i = 1; i <= count; ++i) door.add(100 + 10 * i, 200 + 10 * i);
  return door;
}
// A write that comes at `came`, and whose own turn is at `turn`.
Cycle write(Door& door, Cycle came, int64_t beats, Cycle turn) {
  door.add(turn, turn + 50);
  return door.enter(came, beats, true);
}

const Test alone("timing/door: who finds nobody goes in at once", [] {
  Door door;
  CHECK_EQUAL(write(door, 100, 4, 100), 100);
  CHECK_EQUAL(write(door, 104, 4, 104), 104);
});

const Test behind("timing/door: a write waits for what the queue holds, not for all that is known",
                  [] {
                    Door door = with_reads(8);
                    CHECK_EQUAL(write(door, 100, 4, 190), 110 + 10 * timing::kL2DoorBeats);
                    Door later = with_reads(8);
                    CHECK_EQUAL(write(later, 155, 4, 190), 160 + 10 * timing::kL2DoorBeats);
                    // Behind all of them if there are no more.
                    Door few = with_reads(1);
                    CHECK_EQUAL(write(few, 100, 4, 120), 120);
                  });

const Test turns("timing/door: writes and reads go in turns", [] {
  Door door = with_reads(12);
  const Cycle first = write(door, 100, 4, 230);
  // A write fills the queue; then comes a read.
  CHECK_EQUAL(write(door, first - 5, 4, 240), first + 20);
  CHECK_EQUAL(write(door, first + 15, 4, 250), first + 40);
});

const Test own_set("timing/door: one that waits inside goes in with the one before it", [] {
  Door door = with_reads(8);
  CHECK_EQUAL(door.enter(100, 4, false), 100 + 10 * timing::kL2DoorBeats);
  // It has taken no turn.
  CHECK_EQUAL(write(door, 100, 4, 190), 110 + 10 * timing::kL2DoorBeats);
});

const Test waiting("timing/door: the first two that wait are known", [] {
  const Door door = with_reads(8);
  const Door::Waiting found = door.waiting(135);
  CHECK(found.is_known);
  CHECK_EQUAL(found.first.taken, 140);
  CHECK_EQUAL(found.second.taken, 150);
  CHECK_EQUAL(found.second.first_beat, 250);
  CHECK_EQUAL(door.waiting(175).second.taken, timing::kLongAgo);
  CHECK(!with_reads(300).waiting(100).is_known);
});

}  // namespace
}  // namespace npu::gemmini::testing
