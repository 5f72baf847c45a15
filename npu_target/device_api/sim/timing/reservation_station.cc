#include "reservation_station.h"

#include <algorithm>
#include <string>

#include "error.h"

namespace npu::sim::timing {
namespace {

int lowest_bit(uint64_t set) { return __builtin_ctzll(set); }

template <typename Visit>
void for_each_bit(uint64_t set, Visit visit) {
  for (; set != 0; set &= set - 1) visit(lowest_bit(set));
}

}  // namespace

ReservationStation::ReservationStation(const Config& config) {
  const int64_t sizes[kQueues] = {config.ld_queue_entries, config.ex_queue_entries,
                                  config.st_queue_entries};
  const int64_t total = sizes[0] + sizes[1] + sizes[2];
  if (total > kMaxEntries) {
    throw SimError(ErrorKind::kBadProgram, -1,
                   "device config: ld, ex and st_queue_entries are " + std::to_string(total) +
                       " together, must be at most " + std::to_string(kMaxEntries));
  }
  int first = 0;
  for (int queue = 0; queue < kQueues; ++queue) {
    const uint64_t ones = sizes[queue] == 64 ? ~uint64_t{0} : (uint64_t{1} << sizes[queue]) - 1;
    partitions_[static_cast<size_t>(queue)].all = ones << first;
    first += static_cast<int>(sizes[queue]);
  }
  entries_.resize(static_cast<size_t>(total));
}

void ReservationStation::release_completed(Partition& partition, Cycle now) {
  for_each_bit(partition.held, [&](Id id) {
    if (entry(id).completed < now) partition.held &= ~(uint64_t{1} << id);
  });
}

bool ReservationStation::has_room(Queue queue, Cycle now) {
  Partition& p = partition(queue);
  if (p.held == p.all) release_completed(p, now);
  return p.held != p.all;
}

Cycle ReservationStation::next_release(Queue queue) const {
  Cycle next = kNever;
  for_each_bit(partitions_[static_cast<size_t>(queue)].held, [&](Id id) {
    next = std::min(next, entries_[static_cast<size_t>(id)].completed + 1);
  });
  return next;
}

void ReservationStation::allocate(const Operation& operation, Cycle now) {
  Partition& p = partition(operation.queue);
  const Id id = lowest_bit(p.all & ~p.held);
  p.held |= uint64_t{1} << id;
  Entry& e = entry(id);
  e.operation = operation;
  e.allocated = now;
  e.ready = now + 1;
  e.issued = kNever;
  e.completed = kNever;
  e.waits_for = 0;
  e.waited_for_by = 0;
  if (!operation.is_config) find_dependencies(e, id, now);

  p.issue_order[p.issue_tail++ % kMaxEntries] = id;
  if (!operation.is_config || operation.queue == Queue::kExecute) {
    p.unit_order[p.unit_tail++ % kMaxEntries] = id;
  }
  issue_ready(p);
}

void ReservationStation::find_dependencies(Entry& later, Id id, Cycle now) {
  for (int queue = 0; queue < kQueues; ++queue) {
    if (static_cast<Queue>(queue) == later.operation.queue) continue;
    Partition& p = partitions_[static_cast<size_t>(queue)];
    release_completed(p, now);
    for_each_bit(p.held, [&](Id other) {
      Entry& earlier = entry(other);
      if (earlier.operation.is_config || !depends(later.operation, earlier.operation)) return;
      if (earlier.completed == kNever) {
        later.waits_for |= uint64_t{1} << other;
        earlier.waited_for_by |= uint64_t{1} << id;
      } else {
        later.ready = std::max(later.ready, earlier.completed + 1);
      }
    });
  }
}

bool ReservationStation::depends(const Operation& later, const Operation& earlier) {
  // Only the first range may be written. An execute command is compared with a load in both
  // ranges; two reads never conflict.
  if (later.writes_first &&
      (later.first.overlaps(earlier.first) || later.first.overlaps(earlier.second))) {
    return true;
  }
  return earlier.writes_first &&
         (later.first.overlaps(earlier.first) || later.second.overlaps(earlier.first));
}

void ReservationStation::issue_ready(Partition& p) {
  while (p.issue_head != p.issue_tail) {
    const Id id = p.issue_order[p.issue_head % kMaxEntries];
    Entry& e = entry(id);
    if (e.waits_for != 0) return;
    e.issued = std::max(e.ready, p.last_issued + 1);
    p.last_issued = e.issued;
    ++p.issue_head;
    if (e.operation.is_config && e.operation.queue != Queue::kExecute) complete(id, e.issued);
  }
}

ReservationStation::Entry* ReservationStation::pending(Queue queue, int position) {
  Partition& p = partition(queue);
  const unsigned index = p.unit_head + static_cast<unsigned>(position);
  if (index - p.unit_head >= p.unit_tail - p.unit_head) return nullptr;
  return &entry(p.unit_order[index % kMaxEntries]);
}

ReservationStation::Id ReservationStation::take(Queue queue) {
  Partition& p = partition(queue);
  return p.unit_order[p.unit_head++ % kMaxEntries];
}

void ReservationStation::complete(Id id, Cycle when) {
  Entry& done = entry(id);
  done.completed = when;
  last_completed_ = std::max(last_completed_, when);
  if (done.waited_for_by == 0) return;
  for_each_bit(done.waited_for_by, [&](Id waiting) {
    Entry& e = entry(waiting);
    e.waits_for &= ~(uint64_t{1} << id);
    e.ready = std::max(e.ready, when + 1);
  });
  done.waited_for_by = 0;
  for (Partition& p : partitions_) issue_ready(p);
}

}  // namespace npu::sim::timing
