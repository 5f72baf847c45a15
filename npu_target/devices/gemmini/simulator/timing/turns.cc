#include "gemmini/simulator/timing/turns.h"

namespace npu::gemmini::timing {

void Turns::add_gap(Time start, Time end) {
  if (end_of_gaps_ - first_gap_ == kGaps) ++first_gap_;
  gap(end_of_gaps_++) = {start, end};
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
    const Time start = std::max(ready, gap(i).start);
    const Time end = start + duration;
    if (end > gap(i).end + overlap) continue;
    cut(i, start, end);
    return start;
  }
  return kNone;
}

void Turns::remove(unsigned position) {
  for (unsigned i = position; i + 1 != end_of_gaps_; ++i) gap(i) = gap(i + 1);
  --end_of_gaps_;
}

void Turns::split(unsigned position, Time start, Time end) {
  const Gap after = {end, gap(position).end};
  // Of two where there was one, the second needs a place; when all are taken, the first's.
  if (end_of_gaps_ - first_gap_ == kGaps) {
    gap(position) = after;
    return;
  }
  for (unsigned i = end_of_gaps_++; i != position + 1; --i) gap(i) = gap(i - 1);
  gap(position).end = start;
  gap(position + 1) = after;
}

}  // namespace npu::gemmini::timing
