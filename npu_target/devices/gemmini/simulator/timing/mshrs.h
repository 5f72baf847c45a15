// The requests under way in the L2.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/data_pipeline.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/memory_bus.h"
#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {

// The L2's miss status holding registers (MSHRs).
//
// Policy (rocket-chip-inclusive-cache, Scheduler.scala, MSHR.scala): every request holds one, a
// hit until its data go out, a miss until its line is there, or the permission to write it, and the
// memory has acknowledged what it evicted. A request waits for a free one; one to a set for which
// another is under way waits for that one's, and takes it over.
//
// Messages come over the memory bus when no line does, acknowledgements first (TLCacheCork). Two
// permissions can wait for that; what is asked of memory behind a third waits with it. So do
// evictions behind those of kL2CleanReleases lines that were not written to.
class Mshrs {
 public:
  // Throws nothing; `count` is at most 64.
  Mshrs(int64_t count, MemoryBus& bus, DataPipeline& data)
      : bus_(bus), data_(data), count_(static_cast<Id>(count)) {
    free_.fill(kLongAgo);
    users_[0] = static_cast<uint8_t>(count_);
  }

  using Id = unsigned;

  // One for a request to the line of this number, in this set, whose data, were they there, would
  // leave the cache at `at`; so are all times here. `at` becomes the later for what it waits.
  Id allocate(uint64_t line, uint64_t set, Cycle& at);
  // Whether the latest waited for another one of its set.
  bool waited_for_set() const { return waited_for_set_; }
  // What it holds evicts a line, which memory acknowledges at `acknowledged`.
  void evicts(Id id, Cycle acknowledged, bool is_dirty);
  // What it holds writes a line when memory permits it, at `permitted` but for the bus: its data
  // are ready at `ready` and take `duration` of the data pipeline.
  void writes(Id id, Cycle permitted, Cycle ready, Ticks duration);
  // What it holds is done in cycle `done`, but for all that.
  void complete(Id id, Cycle done);

  // Messages that fit before `until` come.
  void receive_until(Cycle until) {
    if (earliest_ < until) receive_all_until(until);
  }
  // When a line that could be evicted at `at` is, one that was not written to if `is_clean`.
  Cycle evict_from(Cycle at, bool is_clean);
  // When what memory is to be asked for at `at` is asked for, a permission or a line.
  Cycle ask_from(Cycle at, bool is_permission);
  // All messages come. Returns the last cycle of all writes that were permitted, kLongAgo if there
  // were none.
  Cycle settle();

  // From then on none of what is known is under way; kNever while messages are to come.
  Cycle quiet() const { return waiting_count_ + permission_count_ == 0 ? last_free_ : kNever; }

 private:
  static constexpr uint64_t kNoLine = ~uint64_t{0};
  static constexpr unsigned kMost = 64;
  static constexpr uint64_t kSetGroups = 256;
  struct Mshr {
    uint64_t line = kNoLine;
    Cycle done = 0;          // all but the messages
    Cycle acknowledged = 0;  // by memory, before its way over the bus
    unsigned messages = 0;   // it waits for
    bool evicts_clean = false;
  };
  struct Permission {
    Id id;
    Cycle permitted;
    Cycle ready;
    Ticks duration;
  };

  Id find(uint64_t line, uint64_t set, Cycle& at);
  // The one that another request of the set holds at `at`, count_ if there is none.
  NPU_RARE Id find_in_set(uint64_t set, Cycle at) const;
  NPU_RARE void receive_all_until(Cycle until);
  // The first message comes, if that is before `until`. Returns whose, count_ if it is not.
  NPU_RARE Id receive(Cycle until);
  // The first of its kind comes in cycle `at`.
  Id acknowledge(Cycle at);
  Id permit(Cycle at);

  MemoryBus& bus_;
  DataPipeline& data_;
  const Id count_;
  std::array<Mshr, kMost> mshrs_;
  // Of them, for every request looks through all: when it is free, kNever while it waits for a
  // message.
  std::array<Cycle, kMost> free_{};
  std::array<uint64_t, kMost> sets_{};  // of their requests, at first 0
  // How many have a set of the group; as a rule none has one of a request's group.
  std::array<uint8_t, kSetGroups> users_{};
  std::array<uint8_t, kMost> waiting_{};  // for acknowledgements, the earliest first
  unsigned waiting_count_ = 0;
  unsigned clean_count_ = 0;                                     // of them
  std::array<Permission, kL2PermissionsWaiting> permissions_{};  // the earliest first
  unsigned permission_count_ = 0;
  Cycle earliest_ = kNever;  // no message comes before
  Cycle last_free_ = 0;
  Cycle last_clean_ = 0;  // acknowledgement
  Cycle last_permitted_ = 0;
  Cycle last_written_ = kLongAgo;
  Cycle evict_free_ = 0;  // no earlier eviction, for what waits
  Cycle ask_free_ = 0;    // nor requests to memory
  bool waited_for_set_ = false;
};

}  // namespace npu::gemmini::timing
