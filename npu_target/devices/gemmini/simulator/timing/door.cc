#include "gemmini/simulator/timing/door.h"

#include <algorithm>

#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {

Cycle Door::enter(Cycle came, int64_t beats, bool has_turn) {
  if (next_ - first_waiting_ > kTurns) first_waiting_ = next_ - kTurns;
  while (first_waiting_ != next_ && turn(first_waiting_).taken <= came) ++first_waiting_;
  if (first_waiting_ == next_) return came;
  // Behind those that the queue holds already, and one read if the last of them is a write.
  unsigned place = first_waiting_;
  for (int64_t queued = 0; place != next_ && queued < kL2DoorBeats; ++place) {
    queued += std::max<int64_t>(1, turn(place).write_beats);
  }
  if (place != next_ && turn(place - 1).write_beats != 0) ++place;
  // It goes through with the one before it.
  if (!has_turn) return turn(place - 1).taken;
  // None of those behind is a write: what came earlier has gone before.
  if (place == next_) --place;
  turn(place).write_beats = beats;
  return turn(place).taken;
}

Door::Waiting Door::waiting(Cycle at) const {
  Waiting waiting;
  unsigned count = 0;
  for (; count < kTurns && turn(next_ - 1 - count).taken > at; ++count) {
    waiting.second = waiting.first;
    waiting.first = turn(next_ - 1 - count);
  }
  waiting.is_known = count < kTurns;
  return waiting;
}

}  // namespace npu::gemmini::timing
