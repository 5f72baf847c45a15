#include "gemmini/simulator/timing/mshrs.h"

#include <algorithm>

#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {

Mshrs::Id Mshrs::allocate(uint64_t line, uint64_t set, Cycle& at) {
  acknowledge_until(at);
  const Id id = find(line, set, at);
  mshrs_[id].line = line;
  sets_[id] = set;
  free_[id] = 0;
  return id;
}

Mshrs::Id Mshrs::find(uint64_t line, uint64_t set, Cycle& at) {
  Id earliest = 0;
  Cycle free = free_[0];
  Id same_set = count_;
  for (Id id = 0; id < count_; ++id) {
    earliest = free_[id] < free ? id : earliest;
    free = std::min(free, free_[id]);
    same_set = (sets_[id] == set) & (free_[id] > at) ? id : same_set;
  }
  waited_for_set_ = same_set != count_;
  if (rarely(waited_for_set_)) {
    while (free_[same_set] >= kNever) acknowledge();
    const bool is_same_line = mshrs_[same_set].line == line;
    at = std::max(at, free_[same_set] + (is_same_line ? kL2SameLineStages : kL2SameSetStages));
    return same_set;
  }
  while (free + kL2TurnStages > at && next_acknowledgement() < free) {
    // That may make another one free, if not the earliest.
    const Id id = waiting_[0];
    acknowledge();
    if (free_[id] < free) {
      earliest = id;
      free = free_[id];
    }
  }
  at = std::max(at, free + kL2TurnStages);
  return earliest;
}

void Mshrs::evicts(Id id, Cycle acknowledged) {
  Mshr& mshr = mshrs_[id];
  free_[id] = kNever;
  mshr.done = 0;
  mshr.acknowledged = acknowledged;
  unsigned place = waiting_count_++;
  for (; place > 0 && mshrs_[waiting_[place - 1]].acknowledged > acknowledged; --place) {
    waiting_[place] = waiting_[place - 1];
  }
  waiting_[place] = static_cast<uint8_t>(id);
}

void Mshrs::complete(Id id, Cycle done) {
  mshrs_[id].done = done;
  if (free_[id] >= kNever) return;
  free_[id] = std::max(free_[id], done);
  last_free_ = std::max(last_free_, free_[id]);
}

void Mshrs::acknowledge() {
  const Id id = waiting_[0];
  const Mshr& mshr = mshrs_[id];
  --waiting_count_;
  for (unsigned i = 0; i < waiting_count_; ++i) waiting_[i] = waiting_[i + 1];
  free_[id] = std::max(mshr.done, bus_.take_message(mshr.acknowledged) + 1);
  last_free_ = std::max(last_free_, free_[id]);
}

}  // namespace npu::gemmini::timing
