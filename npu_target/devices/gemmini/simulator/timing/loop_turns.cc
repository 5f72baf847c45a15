#include "gemmini/simulator/timing/loop_turns.h"

#include <algorithm>

namespace npu::gemmini::timing {

void LoopTurns::add(Cycle configured) {
  Run& added = run(count_);
  added.configured = configured;
  added.started.fill(kNever);
  added.idle.fill(kNever);
  added.freed = kNever;
  ++count_;
}

void LoopTurns::take(size_t unit, Cycle when, bool has_commands) {
  Unit& u = units_[unit];
  u.before = u.taken;
  u.taken = u.next++;
  u.active_from = when + 1;
  u.idle_from = kNever;
  run(u.taken).started[unit] = when;
  // With nothing to do it is active for a cycle nonetheless.
  if (!has_commands) finish(unit, when + 2);
}

void LoopTurns::skip(size_t unit) {
  Run& skipped = run(units_[unit].next++);
  // Its flags are set together with the registers.
  skipped.started[unit] = skipped.configured - 1;
  skipped.idle[unit] = skipped.configured - 1;
  free_finished();
}

void LoopTurns::finish(size_t unit, Cycle when) {
  units_[unit].idle_from = when;
  run(units_[unit].taken).idle[unit] = when;
  free_finished();
}

void LoopTurns::free_finished() {
  for (; freed_count_ < count_; ++freed_count_) {
    Run& oldest = run(freed_count_);
    const Cycle last = *std::max_element(oldest.idle.begin(), oldest.idle.end());
    if (last >= kNever) return;
    // Idle is noticed, then noted, then the registers are reset.
    oldest.freed = std::max(last + 1, freed(freed_count_ - 1)) + 1;
  }
}

size_t LoopTurns::last_unit(int64_t number) const {
  if (number < 0) return 0;
  const auto& idle = run(number).idle;
  return static_cast<size_t>(std::max_element(idle.begin(), idle.end()) - idle.begin());
}

int64_t LoopTurns::head_at(Cycle now) const {
  int64_t number = count_;
  while (number > 0 && freed(number - 1) > now) --number;
  return number;
}

}  // namespace npu::gemmini::timing
