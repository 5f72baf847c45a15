#include "gemmini/simulator/timing/reservation_station.h"

#include <algorithm>

namespace npu::gemmini::timing {
namespace {

template <typename Visit>
void for_each_bit(uint64_t set, Visit visit) {
  for (; set != 0; set &= set - 1) visit(__builtin_ctzll(set));
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

}  // namespace

ReservationStation::ReservationStation(const Config& config)
    : partitions_{Partition(config.ld_queue_entries), Partition(config.ex_queue_entries),
                  Partition(config.st_queue_entries)} {
  const int64_t sizes[kQueues] = {config.ld_queue_entries, config.ex_queue_entries,
                                  config.st_queue_entries};
  Id first = 0;
  for (size_t queue = 0; queue < kQueues; ++queue) {
    for (int64_t i = 0; i < sizes[queue]; ++i) partitions_[queue].all |= bit(first++);
  }
}

Cycle ReservationStation::last_completed() const {
  Cycle last = kLongAgo;
  for (const Partition& p : partitions_) last = std::max(last, p.releases.latest());
  return last;
}

int ReservationStation::open_commands() const {
  int open = 0;
  for (const Partition& p : partitions_) {
    open += __builtin_popcountll(p.held) - static_cast<int>(p.releases.size());
  }
  return open;
}

void ReservationStation::release_completed_of(Queue one, Queue other, Cycle now) {
  release_completed(partition(one), now);
  release_completed(partition(other), now);
}

void ReservationStation::wait_for_overlaps(Id later, Queue earlier, Cycle now) {
  Partition& p = partition(earlier);
  release_completed(p, now);
  p.parts = 0;
  Entry& waiting = entry(later);
  for_each_bit(p.held, [&](Id id) {
    Entry& other = entry(id);
    p.parts |= other.operation.parts;
    if ((other.operation.parts & waiting.operation.parts) == 0) return;
    if (!depends(waiting.operation, other.operation)) return;
    if (other.completed == kNever) {
      waiting.waits_for |= bit(id);
      other.waited_for_by |= bit(later);
    } else {
      waiting.ready = std::max(waiting.ready, other.completed + 1);
      if (recorder_ != nullptr) recorder_->waited(later, id, other.completed);
    }
  });
}

void ReservationStation::let_go_on(Id done, Cycle when) {
  for_each_bit(entry(done).waited_for_by, [&](Id id) {
    Entry& waiting = entry(id);
    waiting.waits_for &= ~bit(done);
    waiting.ready = std::max(waiting.ready, when + 1);
    if (recorder_ != nullptr) recorder_->waited(id, done, when);
  });
  entry(done).waited_for_by = 0;
  issue_ready(Queue::kLoad);
  issue_ready(Queue::kExecute);
  issue_ready(Queue::kStore);
}

void ReservationStation::issue_ready(Queue queue) {
  Ring& ring = partition(queue).to_issue;
  while (ring.size() != 0 && entry(ring.at(0)).waits_for == 0) {
    const unsigned waiting = ring.size();
    const Id id = ring.pop();
    issue(queue, operation(id).is_config, id, waiting);
  }
}

}  // namespace npu::gemmini::timing
