#include "gemmini/simulator/timing/turns.h"

namespace npu::gemmini::timing {

void Turns::add_gap(Time start, Time end) {
  if (end_of_gaps_ - first_gap_ == kGaps) ++first_gap_;
  gap(end_of_gaps_++) = {start, end};
}

unsigned Turns::first_after(Time time) const {
  // Most are asked for what is not long ago.
  unsigned position = end_of_gaps_;
  while (position != first_gap_ && gap(position - 1).end > time) --position;
  return position;
}

Turns::Time Turns::first_free(Time ready) const {
  if (ready >= end_) return ready;
  const unsigned position = first_after(ready);
  return position == end_of_gaps_ ? end_ : std::max(ready, gap(position).start);
}

Turns::Time Turns::take_between(Time ready, Time duration) {
  Time start = take_gap(ready, duration, 0);
  if (start == kNone) {
    start = end_;
    take_last(start, start + duration);
  }
  return start;
}

Turns::Time Turns::take_gap(Time ready, Time duration, Time overlap) {
  for (unsigned i = first_after(ready); i != end_of_gaps_; ++i) {
    const Gap found = gap(i);
    const Time start = std::max(ready, found.start);
    const Time end = start + duration;
    if (end > found.end + overlap) continue;
    const bool leaves_before = start - found.start >= least_gap_;
    const bool leaves_after = found.end - end >= least_gap_;
    if (leaves_before) gap(i).end = start;
    if (leaves_after && !leaves_before) gap(i).start = end;
    if (leaves_before && leaves_after) {
      // Of two where there was one, the second needs a place; when all are taken, the first's.
      if (end_of_gaps_ - first_gap_ == kGaps) {
        gap(i).start = end;
        gap(i).end = found.end;
      } else {
        for (unsigned j = end_of_gaps_++; j != i + 1; --j) gap(j) = gap(j - 1);
        gap(i + 1) = {end, found.end};
      }
    } else if (!leaves_before && !leaves_after) {
      for (unsigned j = i; j + 1 != end_of_gaps_; ++j) gap(j) = gap(j + 1);
      --end_of_gaps_;
    }
    return start;
  }
  return kNone;
}

}  // namespace npu::gemmini::timing
