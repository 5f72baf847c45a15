#include "gemmini/simulator/timing/turns.h"

namespace npu::gemmini::timing {

void Turns::add_gap(Time start, Time end) {
  if (end_of_gaps_ - first_gap_ == kGaps) ++first_gap_;
  gap(end_of_gaps_++) = {start, end};
}

Turns::Time Turns::take_between(Time ready, Time duration) {
  for (unsigned i = first_after(ready); i != end_of_gaps_; ++i) {
    const Time start = std::max(ready, gap(i).start);
    if (start + duration > gap(i).end) continue;
    cut(i, start, start + duration);
    return start;
  }
  const Time start = end_;
  end_ += duration;
  return start;
}

Turns::Time Turns::begin_in_gap(Time ready, Time duration, Time overlap) {
  const unsigned position = first_after(ready);
  if (position == end_of_gaps_) return kNone;
  const Time start = std::max(ready, gap(position).start);
  const Time end = start + duration;
  const Time late = end - gap(position).end - overlap;
  cut(position, start, end);
  end_ += std::max<Time>(0, late);
  return start;
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
