// The order in which requests get into the L2.
#pragma once

#include <array>
#include <cstdint>

#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/inline.h"

namespace npu::gemmini::timing {

// Where requests wait for an MSHR.
//
// Policy (TLXbar, TLBuffer, SinkA.scala): reads and writes come through one queue of a few beats,
// which waits as long as its first request does. They get into it in turns; a read is one beat of
// it, a write as many as it has.
//
// Reads are known before their time, as far ahead as the commands that the host has issued, and
// have their turns then. Who comes between takes the turn of one that is known, that one the next
// one's, and so on: the new turn, behind all of them, is the last one's. What is known of those
// already stays as it is.
class Door {
 public:
  // A request's: when it leaves the door, and its first beat the cache.
  struct Turn {
    Cycle taken = kLongAgo;
    Cycle first_beat = kLongAgo;
    int64_t write_beats = 0;  // of a write
  };
  // Those that wait at some time. Too many are known for the first to be so: `is_known` says.
  struct Waiting {
    Turn first;
    Turn second;
    bool is_known = true;
  };

  // A request gets the next turn.
  NPU_INLINE void add(Cycle taken, Cycle first_beat) {
    turns_[next_++ % kTurns] = {taken, first_beat, 0};
  }

  // A write comes at `came`; the latest turn is its own, or, if it needs none, `has_turn` false.
  // Returns when it leaves the door.
  NPU_RARE Cycle enter(Cycle came, int64_t beats, bool has_turn);

  NPU_RARE Waiting waiting(Cycle at) const;

 private:
  static constexpr unsigned kTurns = 256;
  Turn& turn(unsigned position) { return turns_[position % kTurns]; }
  const Turn& turn(unsigned position) const { return turns_[position % kTurns]; }

  std::array<Turn, kTurns> turns_{};  // a ring
  unsigned next_ = 0;
  unsigned first_waiting_ = 0;  // when the latest write came
};

}  // namespace npu::gemmini::timing
