#include "mshrs.h"

#include <algorithm>

#include "stages.h"

namespace npu::sim::timing {

Mshrs::Id Mshrs::allocate(uint64_t line, Cycle& at) {
  acknowledge_until(at);
  const Id id = find(line, at);
  mshrs_[id].line = line;
  mshrs_[id].free = 0;
  return id;
}

Mshrs::Id Mshrs::find(uint64_t line, Cycle& at) {
  for (Id id = 0; id < mshrs_.size(); ++id) {
    const Mshr& mshr = mshrs_[id];
    if (mshr.free <= at || mshr.line % sets_ != line % sets_) continue;
    while (mshr.free >= kNever) acknowledge();
    at = std::max(at, mshr.free + (mshr.line == line ? kL2SameLineStages : kL2SameSetStages));
    return id;
  }
  for (;;) {
    const auto earliest = std::min_element(
        mshrs_.begin(), mshrs_.end(), [](const Mshr& a, const Mshr& b) { return a.free < b.free; });
    const Cycle free = earliest->free;
    if (free + kL2TurnStages <= at || (free < kNever && next_acknowledgement() >= free)) {
      at = std::max(at, free + kL2TurnStages);
      return static_cast<Id>(earliest - mshrs_.begin());
    }
    acknowledge();
  }
}

void Mshrs::evicts(Id id, Cycle acknowledged) {
  mshrs_[id].free = kNever;
  mshrs_[id].done = 0;
  mshrs_[id].acknowledged = acknowledged;
  waiting_.push_back(id);
}

void Mshrs::complete(Id id, Cycle done) {
  Mshr& mshr = mshrs_[id];
  mshr.done = done;
  if (mshr.free >= kNever) return;
  mshr.free = std::max(mshr.free, done);
  last_free_ = std::max(last_free_, mshr.free);
}

void Mshrs::acknowledge_until(Cycle until) {
  while (next_acknowledgement() < until) acknowledge();
}

Cycle Mshrs::next_acknowledgement() const {
  if (waiting_.empty()) return kNever;
  return std::max(bus_.free(), mshrs_[waiting_.front()].acknowledged);
}

void Mshrs::acknowledge() {
  Mshr& mshr = mshrs_[waiting_.front()];
  waiting_.erase(waiting_.begin());
  mshr.free = std::max(mshr.done, bus_.take_message(mshr.acknowledged) + 1);
  last_free_ = std::max(last_free_, mshr.free);
}

}  // namespace npu::sim::timing
