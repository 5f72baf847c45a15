// Something that serves one at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "gemmini/simulator/timing/inline.h"

namespace npu::gemmini::timing {

// When it is taken, in cycles or in ticks.
//
// Policy: whoever asks gets the first time in which it is free for as long as is needed, also
// before others that asked earlier: what is ready overtakes what is not. The last gaps between
// those that have it are remembered, as many as requests under way can make.
class Turns {
 public:
  using Time = int64_t;
  static constexpr Time kNone = -1;

  // Gaps shorter than `least_gap` are of use to nobody.
  explicit Turns(Time least_gap) : least_gap_(least_gap) {}

  // It is free from then on.
  Time end() const { return end_; }

  // Takes it for `duration`, from `ready` on at the earliest. Returns the start.
  NPU_INLINE Time take(Time ready, Time duration) {
    if (ready >= end_) {
      take_last(ready, ready + duration);
      return ready;
    }
    // Nothing is left before that is not over: the last gap ends latest, also if it is taken.
    if (gap(end_of_gaps_ - 1).end > ready) return take_between(ready, duration);
    end_ += duration;
    return end_ - duration;
  }
  // The same for a duration of `least_gap`, but takes it only if that starts before `until`.
  NPU_INLINE Time take_before(Time until, Time ready);
  // Begins in the first gap between others, though that may be too short: what follows can spare
  // `overlap`, and by the rest it is all over later. Returns the start, kNone if there is no gap.
  NPU_RARE Time begin_in_gap(Time ready, Time duration, Time overlap);
  // Takes it behind all others: `start` is not before end().
  NPU_INLINE void take_last(Time start, Time end) {
    if (rarely(start - end_ >= least_gap_)) add_gap(end_, start);
    end_ = end;
  }

 private:
  struct Gap {
    Time start;
    Time end;
  };
  static constexpr unsigned kGaps = 16;

  NPU_RARE Time take_between(Time ready, Time duration);
  NPU_RARE void add_gap(Time start, Time end);
  Gap& gap(unsigned position) { return gaps_[position % kGaps]; }
  const Gap& gap(unsigned position) const { return gaps_[position % kGaps]; }
  // The first that ends after `time`; end_of_gaps_ if none does.
  NPU_INLINE unsigned first_after(Time time) const {
    // Most are asked for what is not long ago.
    unsigned position = end_of_gaps_;
    while (position != first_gap_ && gap(position - 1).end > time) --position;
    return position;
  }
  // Part of a gap is taken, and what is left of it too short on a side.
  NPU_INLINE void cut(unsigned position, Time start, Time end);
  NPU_RARE void remove(unsigned position);
  NPU_RARE void split(unsigned position, Time start, Time end);

  const Time least_gap_;
  Time end_ = 0;
  // A ring, in order of time: positions from the one to before the other.
  unsigned first_gap_ = 0;
  unsigned end_of_gaps_ = 0;
  std::array<Gap, kGaps> gaps_{};
};

Turns::Time Turns::take_before(Time until, Time ready) {
  if (ready >= end_) {
    if (ready < until) take_last(ready, ready + least_gap_);
    return ready;
  }
  const unsigned position = first_after(ready);
  if (position == end_of_gaps_) {
    const Time start = end_;
    if (start < until) end_ = start + least_gap_;
    return start;
  }
  const Time start = std::max(ready, gap(position).start);
  if (start < until) cut(position, start, start + least_gap_);
  return start;
}

void Turns::cut(unsigned position, Time start, Time end) {
  Gap& found = gap(position);
  const bool leaves_before = start - found.start >= least_gap_;
  const bool leaves_after = found.end - end >= least_gap_;
  if (leaves_before && leaves_after) {
    split(position, start, end);
  } else if (leaves_before) {
    found.end = start;
  } else if (leaves_after) {
    found.start = end;
  } else {
    remove(position);
  }
}

}  // namespace npu::gemmini::timing
