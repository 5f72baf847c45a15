// Where commands wait for the rows they use and for their unit.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "config.h"
#include "cycle.h"
#include "operation.h"
#include "recorder.h"

namespace npu::sim::timing {

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
  // An entry of any partition.
  using Id = int;
  static constexpr Id kNone = -1;

  // Throws SimError bad_program when the queues have more entries than the model can hold.
  explicit ReservationStation(const Config& config);

  // Who is told what commands do here and in the units; null for nobody.
  void set_recorder(Recorder* recorder) { recorder_ = recorder; }
  Recorder* recorder() const { return recorder_; }

  // Whether a command of `queue` finds an entry in cycle `now`.
  bool has_room(Queue queue, Cycle now) {
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
  Cycle next_release(Queue queue) const {
    const Partition& p = partition(queue);
    const Cycle completed = std::min(p.releases[0].earliest(), p.releases[1].earliest());
    return completed >= kNever ? kNever : completed + 1;
  }

  // An entry of `queue`, which must have room, to decode a command into.
  Id reserve(Queue queue);
  Operation& operation(Id id) { return operations_[static_cast<size_t>(id)]; }
  // The reserved entry's command enters in cycle `now`.
  void enter(Id id, Cycle now);

  // The commands of `queue` that its unit has not taken yet, oldest first; kNone beyond the last.
  // Configuration of the load and store queues is not among them.
  Id pending(Queue queue, unsigned position) const {
    const Ring& ring = partition(queue).to_take;
    return position < ring.size() ? ring.at(position) : kNone;
  }
  // When the command goes to its unit; kNever while that is not known.
  Cycle issued(Id id) const { return issued_[static_cast<size_t>(id)]; }
  // The unit has taken the oldest pending command; the entry stays until it completes.
  Id take(Queue queue) {
    Ring& ring = partition(queue).to_take;
    return ring.ids[ring.head++ % kMaxEntries];
  }
  // The command completes in cycle `when`: the last cycle it holds its entry.
  void complete(Id id, Cycle when);

  // The last cycle in which an entry that has completed so far was held.
  Cycle last_completed() const { return last_completed_; }
  // How many commands hold an entry for which no end is in sight.
  int open_commands() const { return open_commands_; }
  // The queues, one bit each, of which a command was issued since the last call, so that their
  // units may have another next step.
  unsigned poll_issued() {
    const unsigned queues = issued_queues_;
    issued_queues_ = 0;
    return queues;
  }

 private:
  static constexpr unsigned kMaxEntries = 64;
  using Set = uint64_t;
  static constexpr Set bit(Id id) { return Set{1} << id; }

  struct Ring {
    std::array<uint8_t, kMaxEntries> ids{};
    unsigned head = 0;
    unsigned tail = 0;
    void push(Id id) { ids[tail++ % kMaxEntries] = static_cast<uint8_t>(id); }
    Id at(unsigned position) const { return ids[(head + position) % kMaxEntries]; }
    unsigned size() const { return tail - head; }
  };
  // Entries that complete at a known time, the earliest first.
  class Releases {
   public:
    Cycle earliest() const { return earliest_; }
    bool ends_by(Cycle when) const { return latest_ <= when; }
    void push(Cycle completed, Id id) {
      const unsigned end = tail_++;
      earliest_ = std::min(earliest_, completed);
      if (latest_ <= completed) {
        latest_ = completed;
        ring_[end % kMaxEntries] = {completed, id};
      } else {
        insert(end, completed, id);
      }
    }
    // Those that have completed before `now`, which are taken out.
    Set pop_before(Cycle now) { return earliest_ < now ? pop_some_before(now) : 0; }

   private:
    struct Release {
      Cycle completed;
      Id id;
    };
    Set pop_some_before(Cycle now);
    // Puts it where it belongs before the position `end`.
    void insert(unsigned end, Cycle completed, Id id);

    std::array<Release, kMaxEntries> ring_{};
    unsigned head_ = 0;
    unsigned tail_ = 0;
    Cycle earliest_ = kNever;
    Cycle latest_ = kLongAgo;
  };
  // Rows of both memories in 64 parts, a bit each: what overlaps has a part in common.
  using Parts = uint64_t;
  static constexpr int kParts = 64;
  struct Partition {
    unsigned queue_bit = 0;
    Set all = 0;   // its entries
    Set held = 0;  // those in use when last looked at
    // Of those held, the ones that complete at a known time. COMPUTEs complete in order, and so
    // do, much later, the PRELOADs before them: in two lists each goes to the end of its own.
    std::array<Releases, 2> releases;
    Parts parts = 0;  // where the rows are of those held, and maybe more
    Ring to_issue;
    Ring to_take;
    Cycle last_issued = -1;
  };

  Partition& partition(Queue queue) { return partitions_[static_cast<size_t>(queue)]; }
  const Partition& partition(Queue queue) const { return partitions_[static_cast<size_t>(queue)]; }
  static void release_completed(Partition& p, Cycle now) {
    p.held &= ~(p.releases[0].pop_before(now) | p.releases[1].pop_before(now));
  }
  Parts parts_of(const RowRange& range) const {
    if (range.start > range.end) return 0;
    const int shift = range.start >= RowRange::kAccBase ? acc_shift_ : spad_shift_;
    // A range of no rows overlaps with those that its start is in.
    const int64_t first = range.start >> shift;
    const int64_t count = (std::max(range.end - 1, range.start) >> shift) - first;
    if (count >= kParts - 1) return ~Parts{0};
    const Parts parts = (Parts{2} << count) - 1;
    // The memories take turns in the same parts; rows far apart may share one too.
    const unsigned rotation = static_cast<unsigned>(first) % kParts;
    return parts << rotation | parts >> ((kParts - rotation) % kParts);
  }
  void wait_for_overlaps(Id later, Partition& earlier);
  void issue_ready(Partition& partition);

  int spad_shift_;  // from rows to parts
  int acc_shift_;
  std::array<Partition, kQueues> partitions_;
  // By entry.
  std::array<Parts, kMaxEntries> parts_{};
  std::vector<Operation> operations_;
  std::array<Cycle, kMaxEntries> ready_{};  // latest end of a dependency that is known
  std::array<Cycle, kMaxEntries> issued_{};
  std::array<Cycle, kMaxEntries> completed_{};
  std::array<Set, kMaxEntries> waits_for_{};  // entries whose completion is not known yet
  std::array<Set, kMaxEntries> waited_for_by_{};
  Cycle last_completed_ = kLongAgo;
  int open_commands_ = 0;
  unsigned issued_queues_ = 0;
  bool is_asked_if_full_ = false;
  Recorder* recorder_ = nullptr;
};

}  // namespace npu::sim::timing
