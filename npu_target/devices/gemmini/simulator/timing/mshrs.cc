#include "gemmini/simulator/timing/mshrs.h"

namespace npu::gemmini::timing {

Mshrs::Mshrs(int64_t count, MemoryBus& bus, DataPipeline& data)
    : bus_(bus), data_(data), count_(static_cast<Id>(count)) {
  free_.fill(kLongAgo);
  for (Id id = 0; id < count_; ++id) free_id(end_of_free_++) = static_cast<uint8_t>(id);
  users_[0] = static_cast<uint8_t>(count_);
}

Mshrs::Id Mshrs::take_first_after_messages(Cycle& at) {
  // Of equal ones that which was known first.
  Id first = free_id(first_free_);
  Cycle free = first_free_ != end_of_free_ ? free_[first] : kNever;
  while (free + kL2TurnStages > at && earliest_ < free) {
    const Id id = receive(free);
    if (id == count_) break;
    if (free_[id] < free) {
      first = id;
      free = free_[id];
    }
  }
  take(first);
  at = std::max(at, free + kL2TurnStages);
  return first;
}

Mshrs::Id Mshrs::find_in_set(uint64_t set, Cycle at) const {
  Id found = count_;
  for (Id id = 0; id < count_; ++id) found = (sets_[id] == set) & (free_[id] > at) ? id : found;
  return found;
}

void Mshrs::take_over(Id id, uint64_t line, Cycle& at) {
  while (free_[id] >= kNever) receive(kNever);
  take(id);
  const Cycle other_line = mshrs_[id].is_miss ? kL2SetOfMissStages : kL2SameSetStages;
  at = std::max(at, free_[id] + (mshrs_[id].line == line ? kL2SameLineStages : other_line));
}

void Mshrs::take(Id id) {
  unsigned position = first_free_;
  while (free_id(position) != id) ++position;
  for (; position != first_free_; --position) free_id(position) = free_id(position - 1);
  ++first_free_;
}

void Mshrs::evicts(Id id, Cycle acknowledged) {
  ++mshrs_[id].waits;
  mshrs_[id].evicts_clean = true;
  ++clean_count_;
  await({acknowledged, id, false});
  earliest_ = std::min(earliest_, acknowledged);
}

void Mshrs::writes_back(Id id, const MemoryBus::WriteBack& write) {
  ++mshrs_[id].waits;
  mshrs_[id].evicts_clean = false;
  mshrs_[id].write = write.number;
  await({write.acknowledged_from, id, true});
  earliest_ = std::min(earliest_, write.acknowledged_from);
}

void Mshrs::writes(Id id, Cycle permitted, Cycle ready, Ticks duration) {
  mshrs_[id].is_miss = true;
  permissions_[permission_count_++] = {id, permitted, ready, duration};
  earliest_ = std::min(earliest_, permitted);
}

void Mshrs::receive_clean(unsigned most) {
  while (clean_count_ > most) receive(kNever);
}

void Mshrs::make_room_for_permission() {
  while (permission_count_ >= kL2PermissionsWaiting) receive(kNever);
  ask_free_ = std::max(ask_free_, last_permitted_ - kL2PermissionStages);
}

Cycle Mshrs::settle() {
  while (awaits_message()) receive(kNever);
  return last_written_;
}

void Mshrs::receive_all_until(Cycle until) {
  while (earliest_ < until && receive(until) != count_) {
  }
}

Mshrs::Id Mshrs::receive(Cycle until) {
  close_until(until);
  const Cycle acknowledged = first_acknowledgement();
  const Cycle permitted = first_permission();
  const Cycle at = bus_.take_message_before(until, std::min(acknowledged, permitted));
  if (at >= until) {
    earliest_ = at;
    return count_;
  }
  const Id id = acknowledged <= at ? acknowledge(at + 1) : permit(at + 1);
  earliest_ = std::min(first_acknowledgement(), first_permission());
  if (--mshrs_[id].waits == 0) frees(id, mshrs_[id].done);
  return id;
}

Mshrs::Id Mshrs::acknowledge(Cycle end) {
  const Id id = acknowledgement(first_acknowledgement_++).id;
  Mshr& mshr = mshrs_[id];
  mshr.done = std::max(mshr.done, end);
  if (mshr.evicts_clean) {
    --clean_count_;
    last_clean_ = end;
  }
  return id;
}

Mshrs::Id Mshrs::permit(Cycle end) {
  const Permission permission = permissions_[0];
  --permission_count_;
  for (unsigned i = 0; i < permission_count_; ++i) permissions_[i] = permissions_[i + 1];
  last_permitted_ = end;
  const Cycle written = data_.pass_write(std::max(end, permission.ready), permission.duration, 0);
  last_written_ = std::max(last_written_, written - 1);
  const Cycle turn = written - to_cycle(permission.duration);
  bus_.acknowledge_grant(turn);
  Mshr& mshr = mshrs_[permission.id];
  mshr.done = std::max({mshr.done, end + kL2DoneStages, turn - kL2DataStages});
  return permission.id;
}

}  // namespace npu::gemmini::timing
