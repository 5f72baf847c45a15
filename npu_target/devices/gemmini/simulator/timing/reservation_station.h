// Where commands wait for the rows they use and for their unit.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/operation.h"
#include "gemmini/simulator/timing/recorder.h"
#include "gemmini/simulator/timing/release_list.h"

namespace npu::gemmini::timing {

// The reservation station: a partition of entries per queue.
//
// Policy (ReservationStation.scala): one command enters per cycle and holds its entry until it
// completes, except CONFIG_LD and CONFIG_ST, which leave when issued. It may be issued the cycle
// after it entered; a queue issues in order, one command per cycle. A command waits for every
// older one of the other queues whose rows overlap with its own (unless both only read), until
// the cycle after that one completes. Stores wait for older stores to be issued, not completed
// (the 2023 generator, which was measured).
//
// Times come to light out of order: when a unit has worked out when a command completes, the
// commands waiting for it learn when they may go.
class ReservationStation {
 public:
  // An entry of any partition; as wide as an address, so that finding it takes no conversion.
  using Id = int64_t;
  static constexpr Id kNone = -1;

  explicit ReservationStation(const Config& config);
  ReservationStation(const ReservationStation&) = delete;
  ReservationStation& operator=(const ReservationStation&) = delete;

  // Who is told what commands do here and in the units; null for nobody.
  void set_recorder(Recorder* recorder) { recorder_ = recorder; }
  Recorder* recorder() const { return rarely(recorder_ != nullptr) ? recorder_ : nullptr; }

  // Whether a command of `queue` finds an entry in cycle `now`.
  NPU_INLINE bool has_room(Queue queue, Cycle now) {
    Partition& p = partition(queue);
    release_completed(p, now);
    return p.held != p.all;
  }
  // Whether all entries of `queue` are held by what has not completed when last looked at. Before
  // the first call somebody has to say that there will be some: without them, the station looks
  // only when it has to.
  void will_be_asked_if_full() { is_asked_if_full_ = true; }
  bool is_full(Queue queue) const { return partition(queue).held == partition(queue).all; }
  // The first cycle in which another entry of `queue` is free again, as far as known.
  NPU_INLINE Cycle next_release(Queue queue) const {
    const Cycle completed = partition(queue).releases.earliest();
    return completed >= kNever ? kNever : completed + 1;
  }

  // An entry of `queue`, which must have room, to decode a command into.
  NPU_INLINE Id reserve(Queue queue) {
    const Partition& p = partition(queue);
    const Id id = __builtin_ctzll(p.all & ~p.held);
    entry(id).operation.queue = queue;
    return id;
  }
  Operation& operation(Id id) { return entry(id).operation; }
  // The reserved entry's command, configuration or not, enters in cycle `now`.
  NPU_INLINE void enter(Queue queue, bool is_config, Id id, Cycle now) {
    Entry& entry = this->entry(id);
    Partition& p = partition(queue);
    p.held |= bit(id);
    entry.ready = now + 1;
    entry.issued = kNever;
    entry.completed = kNever;
    entry.waits_for = 0;
    entry.waited_for_by = 0;
    if (!is_config) {
      const RowParts parts = entry.operation.parts;
      p.parts |= parts;
      const auto [one, other] = others(queue);
      if (rarely(is_asked_if_full_)) release_completed_of(one, other, now);
      if (rarely((partition(one).parts & parts) != 0)) wait_for_overlaps(id, one, now);
      if (rarely((partition(other).parts & parts) != 0)) wait_for_overlaps(id, other, now);
    }
    if (!is_config || queue == Queue::kExecute) p.to_take.push(id);
    if (p.to_issue.size() == 0 && entry.waits_for == 0) {
      issue(queue, is_config, id, 1);
    } else {
      p.to_issue.push(id);  // behind others it has to wait for them
    }
  }

  // The commands of `queue` that its unit has not taken yet, oldest first; kNone beyond the last.
  // Configuration of the load and store queues is not among them. They are issued in order.
  NPU_INLINE Id pending(Queue queue, unsigned position) const {
    const Ring& ring = partition(queue).to_take;
    return position < ring.size() ? ring.at(position) : kNone;
  }
  // When the command goes to its unit; kNever while that is not known.
  Cycle issued(Id id) const { return entry(id).issued; }
  // The unit has taken the oldest pending command; the entry stays until it completes.
  NPU_INLINE Id take(Queue queue) { return partition(queue).to_take.pop(); }
  // The command of `queue` completes in cycle `when`: the last cycle it holds its entry. Those that
  // overtake others, or are overtaken, are told apart, which saves putting them in order.
  NPU_INLINE void complete(Queue queue, Id id, Cycle when, bool is_out_of_order = false) {
    Entry& entry = this->entry(id);
    entry.completed = when;
    if (rarely(recorder_ != nullptr)) recorder_->completes(id, entry.issued, when);
    partition(queue).releases.push(is_out_of_order, when, id);
    if (rarely(entry.waited_for_by != 0)) let_go_on(id, when);
  }

  // The last cycle in which an entry that has completed so far was held.
  Cycle last_completed() const;
  // How many commands hold an entry for which no end is in sight.
  int open_commands() const;
  // The queues, one bit each, of which a command was issued since they were forgotten, so that
  // their units may have another next step.
  unsigned issued_queues() const { return issued_queues_; }
  void forget_issued_queues() { issued_queues_ = 0; }

 private:
  static constexpr unsigned kMaxEntries = ReleaseList::kMaxEntries;
  using Set = uint64_t;
  static constexpr Set bit(Id id) { return Set{1} << id; }

  struct alignas(64) Entry {
    Cycle ready;  // latest end of a dependency that is known
    Cycle issued;
    Cycle completed;
    Set waits_for;  // entries whose completion is not known yet
    Set waited_for_by;
    Operation operation;
  };
  struct Ring {
    std::array<uint8_t, kMaxEntries> ids{};
    unsigned head = 0;
    unsigned tail = 0;
    void push(Id id) { ids[tail++ % kMaxEntries] = static_cast<uint8_t>(id); }
    Id pop() { return ids[head++ % kMaxEntries]; }
    Id at(unsigned position) const { return ids[(head + position) % kMaxEntries]; }
    unsigned size() const { return tail - head; }
  };
  struct Partition {
    explicit Partition(int64_t entries) : releases(entries) {}
    Set all = 0;         // its entries
    Set held = 0;        // those in use when last looked at
    RowParts parts = 0;  // where the rows are of those held, and maybe more
    Cycle last_issued = -1;
    Ring to_issue;
    Ring to_take;
    ReleaseList releases;  // of those held, the ones that complete at a known time
  };

  Partition& partition(Queue queue) { return partitions_[static_cast<size_t>(queue)]; }
  const Partition& partition(Queue queue) const { return partitions_[static_cast<size_t>(queue)]; }
  Entry& entry(Id id) { return entries_[static_cast<size_t>(id)]; }
  const Entry& entry(Id id) const { return entries_[static_cast<size_t>(id)]; }
  // The other queues, in order.
  static constexpr std::pair<Queue, Queue> others(Queue queue) {
    return {queue == Queue::kLoad ? Queue::kExecute : Queue::kLoad,
            queue == Queue::kStore ? Queue::kExecute : Queue::kStore};
  }
  NPU_INLINE static void release_completed(Partition& p, Cycle now) {
    if (p.releases.earliest() < now) p.held &= ~p.releases.pop_before(now);
  }
  NPU_RARE void release_completed_of(Queue one, Queue other, Cycle now);
  // The command is issued; with it `waiting` were to be.
  NPU_INLINE void issue(Queue queue, bool is_config, Id id, unsigned waiting) {
    Partition& p = partition(queue);
    Entry& entry = this->entry(id);
    entry.issued = p.last_issued = std::max(entry.ready, p.last_issued + 1);
    // A unit looks at two commands ahead to tell its next step.
    if (p.to_take.size() < waiting + 2) issued_queues_ |= 1u << static_cast<int>(queue);
    if (queue != Queue::kExecute && is_config) complete(queue, id, entry.issued, true);
  }
  void issue_ready(Queue queue);
  NPU_RARE void wait_for_overlaps(Id later, Queue earlier, Cycle now);
  NPU_RARE void let_go_on(Id done, Cycle when);

  std::array<Partition, kQueues> partitions_;
  std::array<Entry, kMaxEntries> entries_;
  unsigned issued_queues_ = 0;
  bool is_asked_if_full_ = false;
  Recorder* recorder_ = nullptr;
};

}  // namespace npu::gemmini::timing
