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
// permissions can wait for that; what is asked of memory behind a third waits with it. Evictions
// go one way, in order (SourceC.scala): a line that is written back waits on its way for the
// acknowledgements of all those before it that were not written to (on the RTL two may wait aside;
// this fits measured layers better), and behind kL2CleanReleases of those none is let go of. A
// register acknowledges a permission in its next turn, which is that of its data (MSHR.scala).
class Mshrs {
 public:
  // Throws nothing; `count` is at most 64.
  Mshrs(int64_t count, MemoryBus& bus, DataPipeline& data);

  using Id = unsigned;

  // One for a request to the line of this number, in this set, whose data, were they there, would
  // leave the cache at `at`; so are all times here. `at` becomes the later for what it waits.
  NPU_INLINE Id allocate(uint64_t line, uint64_t set, Cycle& at);
  // Whether the latest waited for another one of its set.
  bool waited_for_set() const { return waited_for_set_; }
  // What it holds evicts a line that was not written to, which is acknowledged at `acknowledged`.
  void evicts(Id id, Cycle acknowledged);
  // What it holds writes a line back.
  void writes_back(Id id, const MemoryBus::WriteBack& write);
  // What it holds writes a line when memory permits it, at `permitted` but for the bus: its data
  // are ready at `ready` and take `duration` of the data pipeline.
  void writes(Id id, Cycle permitted, Cycle ready, Ticks duration);
  // What it holds, a miss or not, is done in cycle `done`, but for all that.
  NPU_INLINE void complete(Id id, Cycle done, bool is_miss);

  // Messages that fit before `until` come.
  NPU_INLINE void receive_until(Cycle until) {
    if (earliest_ < until) receive_all_until(until);
  }
  // When a line that could be evicted at `at` is.
  NPU_INLINE Cycle evict_from(Cycle at);
  // When one that was written to, evicted at `at`, could be on its way to memory.
  NPU_INLINE Cycle write_back_from(Cycle at);
  // When what memory is to be asked for at `at` is asked for, a permission or a line.
  NPU_INLINE Cycle ask_from(Cycle at, bool is_permission);
  // All messages come. Returns the last cycle of all writes that were permitted, kLongAgo if there
  // were none.
  Cycle settle();

  // From then on none of what is known is under way; kNever while messages are to come.
  Cycle quiet() const { return awaits_message() ? kNever : last_free_; }

 private:
  static constexpr uint64_t kNoLine = ~uint64_t{0};
  static constexpr unsigned kMost = 64;
  static constexpr uint64_t kSetGroups = 256;
  struct Mshr {
    uint64_t line = kNoLine;
    Cycle done = 0;  // of what it has waited for
    // So much more it waits for: the request itself, and the message of what it evicts.
    unsigned waits = 0;
    bool is_miss = false;
    bool evicts_clean = false;
    uint64_t write = 0;  // the number of the line that it writes back
  };
  struct Acknowledgement {
    Cycle ready;  // but for its way over the bus; no earlier, if it `is_open`
    Id id;
    bool is_open;  // only memory knows, and not before nothing else is asked for until then
  };
  struct Permission {
    Id id;
    Cycle permitted;
    Cycle ready;
    Ticks duration;
  };

  // The one that is free first; `at` becomes the later for it.
  NPU_INLINE Id take_first(Cycle& at);
  // Messages may make another one free before that.
  NPU_RARE Id take_first_after_messages(Cycle& at);
  // The one that another request of the set holds at `at`, count_ if there is none.
  NPU_RARE Id find_in_set(uint64_t set, Cycle at) const;
  NPU_RARE void take_over(Id id, uint64_t line, Cycle& at);
  // It is free from then on, all of it is known.
  NPU_INLINE void frees(Id id, Cycle free);
  NPU_INLINE void await(const Acknowledgement& acknowledgement);
  // Asks memory about those that could come first, and before `until`.
  NPU_INLINE void close_until(Cycle until);
  // It is not free any more.
  void take(Id id);
  uint8_t& free_id(unsigned position) { return free_ids_[position % kMost]; }
  Acknowledgement& acknowledgement(unsigned position) {
    return acknowledgements_[position % kMost];
  }

  bool awaits_message() const {
    return first_acknowledgement_ != end_of_acknowledgements_ || permission_count_ != 0;
  }
  NPU_RARE void receive_all_until(Cycle until);
  // The first message comes, if that is before `until`. Returns whose, count_ if it is not.
  NPU_INLINE Id receive(Cycle until);
  // When the first of its kind is ready, kNever if there is none.
  Cycle first_acknowledgement() const {
    return first_acknowledgement_ == end_of_acknowledgements_
               ? kNever
               : acknowledgements_[first_acknowledgement_ % kMost].ready;
  }
  Cycle first_permission() const {
    return permission_count_ == 0 ? kNever
                                  : std::max(permissions_[0].permitted, bus_.grants_from());
  }
  // It has come, the cycle before `end`. Returns whose.
  NPU_INLINE Id acknowledge(Cycle end);
  NPU_RARE Id permit(Cycle end);
  // As many come as have to, so that no more than `most` evictions of clean lines wait.
  NPU_RARE void receive_clean(unsigned most);
  // As many come as have to, so that another can wait.
  NPU_RARE void make_room_for_permission();

  MemoryBus& bus_;
  DataPipeline& data_;
  const Id count_;
  std::array<Mshr, kMost> mshrs_;
  std::array<Cycle, kMost> free_;       // when each is, kNever while it waits
  std::array<uint64_t, kMost> sets_{};  // of their requests, at first 0
  // How many have a set of the group; as a rule none has one of a request's group.
  std::array<uint8_t, kSetGroups> users_{};
  // Rings: those of which is known when they are free, the first of them in front, of equal ones
  // that of the lowest number; and the messages that are waited for, the earliest in front.
  std::array<uint8_t, kMost> free_ids_{};
  unsigned first_free_ = 0;
  unsigned end_of_free_ = 0;
  std::array<Acknowledgement, kMost> acknowledgements_{};
  unsigned first_acknowledgement_ = 0;
  unsigned end_of_acknowledgements_ = 0;
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

Mshrs::Id Mshrs::allocate(uint64_t line, uint64_t set, Cycle& at) {
  receive_until(at);
  Id id = rarely(users_[set % kSetGroups] != 0) ? find_in_set(set, at) : count_;
  waited_for_set_ = id != count_;
  if (rarely(waited_for_set_)) {
    take_over(id, line, at);
  } else {
    id = take_first(at);
  }
  mshrs_[id].line = line;
  mshrs_[id].done = 0;
  mshrs_[id].waits = 1;
  --users_[sets_[id] % kSetGroups];
  ++users_[set % kSetGroups];
  sets_[id] = set;
  free_[id] = kNever;
  return id;
}

Mshrs::Id Mshrs::take_first(Cycle& at) {
  const Id id = free_id(first_free_);
  const Cycle ready = free_[id] + kL2TurnStages;
  if (first_free_ == end_of_free_ || (ready > at && earliest_ < free_[id])) {
    return take_first_after_messages(at);
  }
  ++first_free_;
  at = std::max(at, ready);
  return id;
}

void Mshrs::frees(Id id, Cycle free) {
  free_[id] = free;
  last_free_ = std::max(last_free_, free);
  unsigned position = end_of_free_++;
  for (; position != first_free_; --position) {
    const Id before = free_id(position - 1);
    if (free_[before] < free || (free_[before] == free && before < id)) break;
    free_id(position) = static_cast<uint8_t>(before);
  }
  free_id(position) = static_cast<uint8_t>(id);
}

void Mshrs::await(const Acknowledgement& awaited) {
  unsigned position = end_of_acknowledgements_++;
  for (; position != first_acknowledgement_; --position) {
    if (acknowledgement(position - 1).ready <= awaited.ready) break;
    acknowledgement(position) = acknowledgement(position - 1);
  }
  acknowledgement(position) = awaited;
}

void Mshrs::close_until(Cycle until) {
  while (first_acknowledgement() < until && acknowledgement(first_acknowledgement_).is_open) {
    Acknowledgement first = acknowledgement(first_acknowledgement_++);
    first.ready = bus_.acknowledged({first.ready, mshrs_[first.id].write});
    first.is_open = false;
    await(first);
  }
}

void Mshrs::complete(Id id, Cycle done, bool is_miss) {
  Mshr& mshr = mshrs_[id];
  mshr.is_miss = is_miss;
  mshr.done = std::max(mshr.done, done);
  if (--mshr.waits == 0) frees(id, mshr.done);
}

Cycle Mshrs::evict_from(Cycle at) {
  at = std::max(at, evict_free_);
  receive_until(at);
  if (rarely(clean_count_ >= kL2CleanReleases)) {
    receive_clean(kL2CleanReleases - 1);
    evict_free_ = std::max(evict_free_, last_clean_ + kL2CleanStages);
    at = std::max(at, evict_free_);
  }
  return at;
}

Cycle Mshrs::write_back_from(Cycle at) {
  if (clean_count_ == 0) return at;
  receive_clean(0);
  return std::max(at, last_clean_ + 1);
}

Cycle Mshrs::ask_from(Cycle at, bool is_permission) {
  at = std::max(at, ask_free_);
  if (!is_permission) return at;
  receive_until(at);
  if (rarely(permission_count_ >= kL2PermissionsWaiting)) {
    make_room_for_permission();
    at = std::max(at, ask_free_);
  }
  return at;
}

}  // namespace npu::gemmini::timing
