// The requests under way in the L2.
#pragma once

#include <array>
#include <cstdint>

#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/memory_bus.h"

namespace npu::gemmini::timing {

// The L2's miss status holding registers (MSHRs).
//
// Policy (rocket-chip-inclusive-cache, Scheduler.scala, MSHR.scala): every request holds one, a
// hit until its data go out, a miss until its line is there and the memory has acknowledged what
// it evicted. A request waits for a free one; one to a set for which another is under way waits
// for that one's, and takes it over. Acknowledgements come over the memory bus, the earliest first,
// when no line does (TLCacheCork).
class Mshrs {
 public:
  // Throws nothing; `count` is at most 64.
  Mshrs(int64_t count, MemoryBus& bus) : bus_(bus), count_(static_cast<Id>(count)) {
    free_.fill(kLongAgo);
  }

  using Id = unsigned;

  // One for a request to the line of this number, in this set, whose data, were they there, would
  // leave the cache at `at`; so are all times here. `at` becomes the later for what it waits.
  Id allocate(uint64_t line, uint64_t set, Cycle& at);
  // Whether the latest waited for another one of its set.
  bool waited_for_set() const { return waited_for_set_; }
  // What it holds evicts a line, which memory acknowledges at `acknowledged`.
  void evicts(Id id, Cycle acknowledged);
  // What it holds is done in cycle `done`, but for that.
  void complete(Id id, Cycle done);

  // Acknowledgements that fit before `until` come.
  void acknowledge_until(Cycle until) {
    while (next_acknowledgement() < until) acknowledge();
  }

  // From then on none of what is known is under way; kNever while acknowledgements are to come.
  Cycle quiet() const { return waiting_count_ == 0 ? last_free_ : kNever; }

 private:
  static constexpr uint64_t kNoLine = ~uint64_t{0};
  static constexpr unsigned kMost = 64;
  struct Mshr {
    uint64_t line = kNoLine;
    Cycle done = 0;          // all but the acknowledgement
    Cycle acknowledged = 0;  // by memory, before its way over the bus
  };

  Id find(uint64_t line, uint64_t set, Cycle& at);
  // When the first acknowledgement would come, kNever if none is to.
  Cycle next_acknowledgement() const {
    return waiting_count_ == 0 ? kNever : bus_.first_free(mshrs_[waiting_[0]].acknowledged);
  }
  // It comes.
  NPU_RARE void acknowledge();

  MemoryBus& bus_;
  const Id count_;
  std::array<Mshr, kMost> mshrs_;
  // Of them, for every request looks through all: its set, and when it is free, kNever while it
  // waits for an acknowledgement.
  std::array<uint64_t, kMost> sets_{};
  std::array<Cycle, kMost> free_{};
  std::array<uint8_t, kMost> waiting_{};  // for acknowledgements, the earliest first
  unsigned waiting_count_ = 0;
  Cycle last_free_ = 0;
  bool waited_for_set_ = false;
};

}  // namespace npu::gemmini::timing
