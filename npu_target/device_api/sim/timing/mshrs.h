// The requests under way in the L2.
#pragma once

#include <cstdint>
#include <vector>

#include "cycle.h"
#include "inline.h"
#include "memory_bus.h"

namespace npu::sim::timing {

// The L2's miss status holding registers (MSHRs).
//
// Policy (rocket-chip-inclusive-cache, Scheduler.scala, MSHR.scala): every request holds one, a
// hit until its data go out, a miss until its line is there and the memory has acknowledged what
// it evicted. A request waits for a free one; one to a set for which another is under way waits
// for that one's, and takes it over. Acknowledgements come over the memory bus when no line does
// (TLCacheCork).
class Mshrs {
 public:
  Mshrs(int64_t count, MemoryBus& bus) : bus_(bus), mshrs_(static_cast<size_t>(count)) {}

  using Id = size_t;

  // One for a request to the line of this number, in this set, whose data, were they there, would
  // leave the cache at `at`; so are all times here. `at` becomes the later for what it waits.
  Id allocate(uint64_t line, uint64_t set, Cycle& at);
  // What it holds evicts a line, which memory acknowledges at `acknowledged`.
  void evicts(Id id, Cycle acknowledged);
  // What it holds is done in cycle `done`, but for that.
  void complete(Id id, Cycle done);

  // Acknowledgements that fit before `until` come.
  void acknowledge_until(Cycle until);

  // From then on none of what is known is under way; kNever while acknowledgements are to come.
  Cycle quiet() const { return waiting_.empty() ? last_free_ : kNever; }

 private:
  static constexpr uint64_t kNoLine = ~uint64_t{0};
  struct Mshr {
    uint64_t line = kNoLine;
    uint64_t set = kNoLine;
    Cycle free = 0;          // kNever while it waits for an acknowledgement
    Cycle done = 0;          // all but that
    Cycle acknowledged = 0;  // by memory, before its way over the bus
  };

  Id find(uint64_t line, uint64_t set, Cycle& at);
  // When the oldest acknowledgement would come, kNever if none is to.
  Cycle next_acknowledgement() const;
  void acknowledge();

  MemoryBus& bus_;
  std::vector<Mshr> mshrs_;
  std::vector<Id> waiting_;  // for acknowledgements, in their order
  Cycle last_free_ = 0;
};

}  // namespace npu::sim::timing
