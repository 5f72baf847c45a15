// Where commands wait for the rows they use and for their unit.
#pragma once

#include <array>
#include <vector>

#include "config.h"
#include "cycle.h"
#include "operation.h"

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
  using Id = int;
  static constexpr Id kNone = -1;

  struct Entry {
    Operation operation;
    Cycle allocated = 0;
    Cycle ready = 0;           // latest end of a dependency that is known
    Cycle issued = kNever;     // when it goes to its unit
    Cycle completed = kNever;  // the last cycle it holds its entry
    uint64_t waits_for = 0;    // entries whose completion is not known yet
    uint64_t waited_for_by = 0;
  };

  // Throws SimError bad_program when the queues have more entries than the model can hold.
  explicit ReservationStation(const Config& config);

  // Whether a command of `queue` finds an entry in cycle `now`.
  bool has_room(Queue queue, Cycle now);
  // When the next entry of `queue` is given back, kNever while that is not known.
  Cycle next_release(Queue queue) const;

  // Takes an entry in cycle `now`; there must be room. `operation` is the command decoded.
  void allocate(const Operation& operation, Cycle now);

  // The commands of `queue` that its unit has not taken yet, oldest first; nullptr beyond.
  // Configuration of the load and store queues is not among them.
  Entry* pending(Queue queue, int position);
  // The unit has taken the oldest pending command; the entry stays until it completes.
  Id take(Queue queue);

  Entry& entry(Id id) { return entries_[static_cast<size_t>(id)]; }
  // The command completes in cycle `when`.
  void complete(Id id, Cycle when);

  // The last cycle in which an entry that has completed so far was held.
  Cycle last_completed() const { return last_completed_; }

 private:
  static constexpr int kMaxEntries = 64;

  struct Partition {
    uint64_t all = 0;                           // its entries
    uint64_t held = 0;                          // those in use, as far as looked at
    std::array<Id, kMaxEntries> issue_order{};  // a ring of those not issued
    unsigned issue_head = 0;
    unsigned issue_tail = 0;
    std::array<Id, kMaxEntries> unit_order{};  // a ring of those their unit has not taken
    unsigned unit_head = 0;
    unsigned unit_tail = 0;
    Cycle last_issued = -1;
  };

  Partition& partition(Queue queue) { return partitions_[static_cast<size_t>(queue)]; }
  void release_completed(Partition& partition, Cycle now);
  void find_dependencies(Entry& entry, Id id, Cycle now);
  static bool depends(const Operation& later, const Operation& earlier);
  void issue_ready(Partition& partition);

  std::array<Partition, kQueues> partitions_;
  std::vector<Entry> entries_;
  Cycle last_completed_ = -1;
};

}  // namespace npu::sim::timing
