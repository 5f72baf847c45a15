#include "reservation_station.h"

#include <algorithm>
#include <string>

#include "error.h"

namespace npu::sim::timing {
namespace {

int lowest_bit(uint64_t set) { return __builtin_ctzll(set); }

template <typename Visit>
void for_each_bit(uint64_t set, Visit visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<size_t>(lowest_bit(set)));
}

// Only the first range of a command may be written; two reads never conflict.
bool depends(const Operation& later, const Operation& earlier) {
  if (later.writes_first &&
      (later.first.overlaps(earlier.first) || later.first.overlaps(earlier.second))) {
    return true;
  }
  return earlier.writes_first &&
         (later.first.overlaps(earlier.first) || later.second.overlaps(earlier.first));
}

// The least shift that makes `rows` rows to at most `parts` parts.
int shift_to_parts(int64_t rows, int64_t parts) {
  int shift = 0;
  while (((rows - 1) >> shift) >= parts) ++shift;
  return shift;
}

}  // namespace

ReservationStation::ReservationStation(const Config& config)
    : spad_shift_(shift_to_parts(config.spad_rows(), kParts)),
      acc_shift_(shift_to_parts(config.acc_rows(), kParts)) {
  const int64_t sizes[kQueues] = {config.ld_queue_entries, config.ex_queue_entries,
                                  config.st_queue_entries};
  const int64_t total = sizes[0] + sizes[1] + sizes[2];
  if (total > int64_t{kMaxEntries}) {
    throw SimError(ErrorKind::kBadProgram, -1,
                   "device config: ld, ex and st_queue_entries are " + std::to_string(total) +
                       " together, must be at most " + std::to_string(kMaxEntries));
  }
  int first = 0;
  for (int queue = 0; queue < kQueues; ++queue) {
    Set all = 0;
    for (int64_t i = 0; i < sizes[queue]; ++i) all |= bit(first++);
    partitions_[static_cast<size_t>(queue)].all = all;
    partitions_[static_cast<size_t>(queue)].queue_bit = 1u << queue;
  }
  operations_.resize(static_cast<size_t>(total));
}

ReservationStation::Id ReservationStation::reserve(Queue queue) {
  const Partition& p = partition(queue);
  const Id id = lowest_bit(p.all & ~p.held);
  operation(id).queue = queue;
  return id;
}

void ReservationStation::enter(Id id, Cycle now) {
  const Operation& operation = this->operation(id);
  Partition& p = partition(operation.queue);
  const size_t index = static_cast<size_t>(id);
  p.held |= bit(id);
  ++open_commands_;
  ready_[index] = now + 1;
  issued_[index] = kNever;
  completed_[index] = kNever;
  waits_for_[index] = 0;
  waited_for_by_[index] = 0;
  parts_[index] = 0;
  if (!operation.is_config) {
    const Parts parts = parts_of(operation.first) | parts_of(operation.second);
    parts_[index] = parts;
    p.parts |= parts;
    for (Partition& other : partitions_) {
      if (&other == &p) continue;
      const bool may_overlap = (other.parts & parts) != 0;
      if (may_overlap || is_asked_if_full_) release_completed(other, now);
      if (may_overlap) wait_for_overlaps(id, other);
    }
  }
  const bool is_next = p.to_issue.size() == 0;
  p.to_issue.push(id);
  if (!operation.is_config || operation.queue == Queue::kExecute) p.to_take.push(id);
  // Behind others it has to wait for them.
  if (is_next && waits_for_[index] == 0) issue_ready(p);
}

void ReservationStation::wait_for_overlaps(Id later, Partition& earlier) {
  const size_t waiting = static_cast<size_t>(later);
  earlier.parts = 0;
  for_each_bit(earlier.held, [&](size_t id) {
    earlier.parts |= parts_[id];
    if ((parts_[id] & parts_[waiting]) == 0) return;
    if (!depends(operations_[waiting], operations_[id])) return;
    if (completed_[id] == kNever) {
      waits_for_[waiting] |= bit(static_cast<Id>(id));
      waited_for_by_[id] |= bit(later);
    } else {
      ready_[waiting] = std::max(ready_[waiting], completed_[id] + 1);
      if (recorder_ != nullptr) recorder_->waited(later, static_cast<Id>(id), completed_[id]);
    }
  });
}

void ReservationStation::issue_ready(Partition& p) {
  while (p.to_issue.size() != 0) {
    const Id id = p.to_issue.at(0);
    const size_t index = static_cast<size_t>(id);
    if (waits_for_[index] != 0) return;
    p.last_issued = std::max(ready_[index], p.last_issued + 1);
    issued_[index] = p.last_issued;
    // A unit looks at two commands ahead to tell its next step.
    if (p.to_take.size() < p.to_issue.size() + 2) issued_queues_ |= p.queue_bit;
    ++p.to_issue.head;
    const Operation& operation = operations_[index];
    if (operation.is_config && operation.queue != Queue::kExecute) complete(id, p.last_issued);
  }
}

void ReservationStation::Releases::insert(unsigned end, Cycle completed, Id id) {
  unsigned position = end;
  for (; position != head_; --position) {
    const Release& before = ring_[(position - 1) % kMaxEntries];
    if (before.completed <= completed) break;
    ring_[position % kMaxEntries] = before;
  }
  ring_[position % kMaxEntries] = {completed, id};
}

ReservationStation::Set ReservationStation::Releases::pop_some_before(Cycle now) {
  Set gone = 0;
  do {
    gone |= bit(ring_[head_++ % kMaxEntries].id);
    earliest_ = head_ == tail_ ? kNever : ring_[head_ % kMaxEntries].completed;
  } while (head_ != tail_ && earliest_ < now);
  return gone;
}

void ReservationStation::complete(Id id, Cycle when) {
  const size_t done = static_cast<size_t>(id);
  Partition& own = partition(operations_[done].queue);
  completed_[done] = when;
  if (recorder_ != nullptr) recorder_->completes(id, issued_[done], when);
  --open_commands_;
  own.releases[own.releases[0].ends_by(when) ? 0 : 1].push(when, id);
  last_completed_ = std::max(last_completed_, when);
  if (waited_for_by_[done] == 0) return;
  for_each_bit(waited_for_by_[done], [&](size_t waiting) {
    waits_for_[waiting] &= ~bit(id);
    ready_[waiting] = std::max(ready_[waiting], when + 1);
    if (recorder_ != nullptr) recorder_->waited(static_cast<Id>(waiting), id, when);
  });
  waited_for_by_[done] = 0;
  for (Partition& p : partitions_) issue_ready(p);
}

}  // namespace npu::sim::timing
