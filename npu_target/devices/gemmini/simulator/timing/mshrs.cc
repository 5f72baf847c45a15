#include "gemmini/simulator/timing/mshrs.h"

namespace npu::gemmini::timing {

Mshrs::Id Mshrs::allocate(uint64_t line, uint64_t set, Cycle& at) {
  receive_until(at);
  const Id id = find(line, set, at);
  mshrs_[id] = {line};
  --users_[sets_[id] % kSetGroups];
  ++users_[set % kSetGroups];
  sets_[id] = set;
  free_[id] = 0;
  return id;
}

Mshrs::Id Mshrs::find(uint64_t line, uint64_t set, Cycle& at) {
  const Id same_set = rarely(users_[set % kSetGroups] != 0) ? find_in_set(set, at) : count_;
  waited_for_set_ = same_set != count_;
  if (rarely(waited_for_set_)) {
    while (free_[same_set] >= kNever) receive(kNever);
    const bool is_same_line = mshrs_[same_set].line == line;
    at = std::max(at, free_[same_set] + (is_same_line ? kL2SameLineStages : kL2SameSetStages));
    return same_set;
  }
  Id earliest = 0;
  Cycle free = free_[0];
  for (Id id = 1; id < count_; ++id) {
    earliest = free_[id] < free ? id : earliest;
    free = std::min(free, free_[id]);
  }
  while (free + kL2TurnStages > at && earliest_ < free) {
    // That may make another one free, if not the earliest.
    const Id id = receive(free);
    if (id == count_) break;
    if (free_[id] < free) {
      earliest = id;
      free = free_[id];
    }
  }
  at = std::max(at, free + kL2TurnStages);
  return earliest;
}

Mshrs::Id Mshrs::find_in_set(uint64_t set, Cycle at) const {
  Id found = count_;
  for (Id id = 0; id < count_; ++id) found = (sets_[id] == set) & (free_[id] > at) ? id : found;
  return found;
}

void Mshrs::evicts(Id id, Cycle acknowledged, bool is_dirty) {
  Mshr& mshr = mshrs_[id];
  free_[id] = kNever;
  ++mshr.messages;
  mshr.acknowledged = acknowledged;
  mshr.evicts_clean = !is_dirty;
  clean_count_ += is_dirty ? 0 : 1;
  unsigned place = waiting_count_++;
  for (; place > 0 && mshrs_[waiting_[place - 1]].acknowledged > acknowledged; --place) {
    waiting_[place] = waiting_[place - 1];
  }
  waiting_[place] = static_cast<uint8_t>(id);
  earliest_ = std::min(earliest_, acknowledged);
}

void Mshrs::writes(Id id, Cycle permitted, Cycle ready, Ticks duration) {
  free_[id] = kNever;
  ++mshrs_[id].messages;
  permissions_[permission_count_++] = {id, permitted, ready, duration};
  earliest_ = std::min(earliest_, permitted);
}

void Mshrs::complete(Id id, Cycle done) {
  Mshr& mshr = mshrs_[id];
  mshr.done = std::max(mshr.done, done);
  if (mshr.messages != 0) return;
  free_[id] = mshr.done;
  last_free_ = std::max(last_free_, free_[id]);
}

Cycle Mshrs::evict_from(Cycle at, bool is_clean) {
  at = std::max(at, evict_free_);
  if (!is_clean) return at;
  receive_until(at);
  if (clean_count_ < kL2CleanReleases) return at;
  while (clean_count_ >= kL2CleanReleases) receive(kNever);
  evict_free_ = std::max(evict_free_, last_clean_ + kL2CleanStages);
  return std::max(at, evict_free_);
}

Cycle Mshrs::ask_from(Cycle at, bool is_permission) {
  at = std::max(at, ask_free_);
  if (!is_permission) return at;
  receive_until(at);
  if (permission_count_ < kL2PermissionsWaiting) return at;
  while (permission_count_ >= kL2PermissionsWaiting) receive(kNever);
  ask_free_ = std::max(ask_free_, last_permitted_ - kL2PermissionStages);
  return std::max(at, ask_free_);
}

Cycle Mshrs::settle() {
  while (waiting_count_ + permission_count_ != 0) receive(kNever);
  return last_written_;
}

void Mshrs::receive_all_until(Cycle until) {
  while (receive(until) != count_) {
  }
}

Mshrs::Id Mshrs::receive(Cycle until) {
  const Cycle acknowledged = waiting_count_ == 0 ? kNever : mshrs_[waiting_[0]].acknowledged;
  const Cycle permitted = permission_count_ == 0 ? kNever : permissions_[0].permitted;
  const Cycle ready = std::min(acknowledged, permitted);
  earliest_ = ready < kNever ? bus_.first_free(ready) : kNever;
  if (earliest_ >= until) return count_;
  const Id id = acknowledged <= earliest_ ? acknowledge(earliest_) : permit(earliest_);
  if (--mshrs_[id].messages == 0) {
    free_[id] = mshrs_[id].done;
    last_free_ = std::max(last_free_, free_[id]);
  }
  return id;
}

Mshrs::Id Mshrs::acknowledge(Cycle at) {
  const Id id = waiting_[0];
  Mshr& mshr = mshrs_[id];
  --waiting_count_;
  for (unsigned i = 0; i < waiting_count_; ++i) waiting_[i] = waiting_[i + 1];
  const Cycle end = bus_.take_message(at) + 1;
  mshr.done = std::max(mshr.done, end);
  if (mshr.evicts_clean) {
    --clean_count_;
    last_clean_ = end;
  }
  return id;
}

Mshrs::Id Mshrs::permit(Cycle at) {
  const Permission permission = permissions_[0];
  --permission_count_;
  for (unsigned i = 0; i < permission_count_; ++i) permissions_[i] = permissions_[i + 1];
  const Cycle end = bus_.take_message(at) + 1;
  last_permitted_ = end;
  const Cycle written = data_.pass_write(std::max(end, permission.ready), permission.duration, 0);
  last_written_ = std::max(last_written_, written - 1);
  Mshr& mshr = mshrs_[permission.id];
  mshr.done = std::max(
      {mshr.done, end + kL2DoneStages, written - to_cycle(permission.duration) - kL2DataStages});
  return permission.id;
}

}  // namespace npu::gemmini::timing
