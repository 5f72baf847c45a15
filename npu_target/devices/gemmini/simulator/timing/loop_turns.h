// Who works on which loop: the part that both unrollers have in common.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gemmini/simulator/timing/cycle.h"

namespace npu::gemmini::timing {

// The loops an unroller was given, by number, and the units that take them up.
//
// Policy (LoopMatmul.scala, LoopConv.scala): there are two sets of registers, so two loops at
// once. Every unit takes up the loops in order, the next one as soon as it has issued the last
// command of its own; it begins a cycle later. A loop ends, and frees its registers, when all of
// its units have been seen idle and no older loop is left. A unit that a loop leaves out counts
// as having run at once.
class LoopTurns {
 public:
  static constexpr size_t kUnits = 5;

  // Adds a loop whose registers are complete from cycle `configured` on. Both older loops but one
  // have to be over.
  void add(Cycle configured);
  int64_t count() const { return count_; }
  // Whether there are loops whose end is not known.
  bool is_active() const { return freed_count_ != count_; }
  Cycle configured(int64_t number) const { return run(number).configured; }

  // The loop that `unit` takes up next; count() when there is none.
  int64_t next(size_t unit) const { return units_[unit].next; }
  // The unit takes up that loop in cycle `when`, or is left out of it.
  void take(size_t unit, Cycle when, bool has_commands);
  void skip(size_t unit);
  // The unit is idle from cycle `when` on.
  void finish(size_t unit, Cycle when);

  // The loop it took up last, -1 before the first.
  int64_t taken(size_t unit) const { return units_[unit].taken; }
  // The first cycle in which it may issue commands of that loop.
  Cycle active_from(size_t unit) const { return units_[unit].active_from; }
  // Whether commands of that loop are left to it.
  bool is_busy(size_t unit) const { return units_[unit].idle_from == kNever; }
  // The first cycle in which it is idle after that loop; kNever while it is busy.
  Cycle idle_from(size_t unit) const { return units_[unit].idle_from; }

  bool is_idle_at(size_t unit, Cycle now) const {
    return now < units_[unit].active_from || now >= units_[unit].idle_from;
  }
  // The loop it is registered with in cycle `now`.
  int64_t loop_at(size_t unit, Cycle now) const {
    return now < units_[unit].active_from ? units_[unit].before : units_[unit].taken;
  }

  // When `unit` took up loop `number`, kNever if it has not; and from when on it is through with
  // it.
  Cycle started(size_t unit, int64_t number) const { return run(number).started[unit]; }
  Cycle completed(size_t unit, int64_t number) const { return run(number).idle[unit]; }
  // The unit that was, or will be, through with it last.
  size_t last_unit(int64_t number) const;

  // From when on the registers of loop `number` are free again; kNever while that is not known.
  Cycle freed(int64_t number) const { return number < 0 ? kLongAgo : run(number).freed; }
  // The oldest loop that is not over in cycle `now`; count() if there is none.
  int64_t head_at(Cycle now) const;

 private:
  struct Run {
    Cycle configured = kLongAgo;
    std::array<Cycle, kUnits> started{};
    std::array<Cycle, kUnits> idle{};
    Cycle freed = kLongAgo;
  };
  struct Unit {
    int64_t next = 0;
    int64_t taken = -1;
    int64_t before = -1;
    Cycle active_from = kLongAgo;
    Cycle idle_from = kLongAgo;
  };
  Run& run(int64_t number) { return runs_[static_cast<size_t>(number) % runs_.size()]; }
  const Run& run(int64_t number) const { return runs_[static_cast<size_t>(number) % runs_.size()]; }
  void free_finished();

  std::array<Run, 4> runs_{};
  std::array<Unit, kUnits> units_{};
  int64_t count_ = 0;
  int64_t freed_count_ = 0;  // loops whose end is known
};

}  // namespace npu::gemmini::timing
