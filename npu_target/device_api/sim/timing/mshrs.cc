#include "mshrs.h"

#include <algorithm>

#include "stages.h"

namespace npu::sim::timing {

Mshrs::Id Mshrs::allocate(uint64_t line, uint64_t set, Cycle& at) {
  acknowledge_until(at);
  const Id id = find(line, set, at);
  mshrs_[id].line = line;
  mshrs_[id].set = set;
  mshrs_[id].free = 0;
  return id;
}

Mshrs::Id Mshrs::find(uint64_t line, uint64_t set, Cycle& at) {
  Id earliest = 0;
  for (Id id = 0; id < mshrs_.size(); ++id) {
    const Mshr& mshr = mshrs_[id];
    if (mshr.free < mshrs_[earliest].free) earliest = id;
    if (rarely(mshr.set == set) && mshr.free > at) {
      while (mshr.free >= kNever) acknowledge();
      at = std::max(at, mshr.free + (mshr.line == line ? kL2SameLineStages : kL2SameSetStages));
      return id;
    }
  }
  Cycle free = mshrs_[earliest].free;
  while (free + kL2TurnStages > at && next_acknowledgement() < free) {
    // That may make another one free, if not the earliest.
    const Id id = waiting_.front();
    acknowledge();
    if (mshrs_[id].free < free) {
      earliest = id;
      free = mshrs_[id].free;
    }
  }
  at = std::max(at, free + kL2TurnStages);
  return earliest;
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
