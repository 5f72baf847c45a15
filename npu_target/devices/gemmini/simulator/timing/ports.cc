#include "gemmini/simulator/timing/ports.h"

#include <algorithm>

namespace npu::gemmini::timing {
namespace {

uint64_t power_of_two_at_least(int64_t value) {
  uint64_t power = 2;
  while (power < static_cast<uint64_t>(value)) power *= 2;
  return power;
}

}  // namespace

PortCalendar::PortCalendar(int64_t capacity)
    : spans_(power_of_two_at_least(capacity)), last_(&spans_.back()), wrap_(spans_.size() - 1) {}

void PortCalendar::insert(BankMask mask, Cycle start, Cycle end) {
  uint64_t position = tail_++;
  // Two producers (say the DMA and the zero writer) may come slightly out of order.
  for (; position > head_ && at(position - 1).start > start; --position) {
    at(position) = at(position - 1);
  }
  at(position) = {mask, start, end};
  last_ = &at(tail_ - 1);
}

Cycle PortCalendar::look_for_free(BankMask mask, Cycle from) const {
  for (uint64_t i = head_; i < tail_; ++i) {
    const Span& span = at(i);
    if (span.start > from) break;
    if ((span.mask & mask) != 0 && span.end > from) from = span.end;
  }
  return from;
}

PortCalendar::Used PortCalendar::look_after_free(BankMask mask, Cycle from, Cycle until,
                                                 int64_t count) const {
  const auto use = [&](Cycle free_until) {
    const Cycle used = std::min<Cycle>(count, std::min(free_until, until) - from);
    if (used <= 0) return;
    count -= used;
    from += used;
  };
  for (uint64_t i = head_; i < tail_ && count != 0 && from < until; ++i) {
    const Span& span = at(i);
    if (span.start >= until) break;
    if ((span.mask & mask) == 0 || span.end <= from) continue;
    use(span.start);
    if (count != 0) from = std::max(from, std::min(span.end, until));
  }
  use(until);
  return {from, count};
}

}  // namespace npu::gemmini::timing
