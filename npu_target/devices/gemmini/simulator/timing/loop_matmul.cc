#include "gemmini/simulator/timing/loop_matmul.h"

#include <algorithm>

namespace npu::gemmini::timing {

void MatmulUnroller::add(const loops::MatmulLoop& loop, Cycle configured) {
  loops_[static_cast<size_t>(turns_.count()) % loops_.size()] = loop;
  turns_.add(configured);
  take_up();
}

void MatmulUnroller::take_up() {
  // A unit may wait for one before it in this order only.
  for (const Unit unit : {kLoadA, kLoadB, kLoadD, kExecute, kStore}) {
    while (take_up(unit)) {
    }
  }
}

bool MatmulUnroller::take_up(Unit unit) {
  const int64_t number = turns_.next(unit);
  if (number == turns_.count()) return false;
  const loops::MatmulLoop& loop = loop_of(number);
  const bool has_part[] = {loop.has_load_a, loop.has_load_b, loop.has_load_d, loop.has_execute,
                           loop.has_store};
  if (!has_part[unit]) {
    turns_.skip(unit);
    return true;
  }
  const Cycle when = request(unit, number);
  if (when >= kNever) return false;
  turns_.take(unit, when, begin(unit, loop));
  return true;
}

Cycle MatmulUnroller::request(Unit unit, int64_t number) const {
  const Cycle when = std::max(turns_.configured(number), turns_.idle_from(unit));
  switch (unit) {
    case kExecute:
      return std::max({when, turns_.started(kLoadA, number) + 1, turns_.started(kLoadB, number) + 1,
                       turns_.started(kLoadD, number) + 1});
    case kStore:
      if (loop_of(number).is_residual_add) return when;
      return std::max(when, turns_.started(kExecute, number) + 1);
    default:
      return when;
  }
}

// Returns whether there is anything to do.
bool MatmulUnroller::begin(Unit unit, const loops::MatmulLoop& loop) {
  switch (unit) {
    case kLoadA:
      return !load_a_.emplace(loop).is_done();
    case kLoadB:
      return !load_b_.emplace(loop, loops::AbsentRows::kLoaded).is_done();
    case kLoadD:
      return !load_d_.emplace(loop).is_done();
    case kExecute:
      return !execute_.emplace(loop).is_done();
    case kStore:
      return !store_.emplace(loop).is_done();
  }
  return false;
}

Cycle MatmulUnroller::ready(Unit unit, Queue queue) const {
  if (!turns_.is_busy(unit)) return kNever;
  const Cycle from = std::max(next_free_, turns_.active_from(unit));
  return station_.is_full(queue) ? std::max(from, station_.next_release(queue)) : from;
}

Cycle MatmulUnroller::store_ready() const {
  const Cycle from = ready(kStore, Queue::kStore);
  if (from >= kNever) return kNever;
  const int64_t number = turns_.taken(kStore);
  const loops::MatmulLoop& loop = loop_of(number);
  Cycle completed = turns_.completed(kExecute, number);
  bool is_ahead = false;
  if (loop.is_residual_add) {
    completed = std::max(turns_.completed(kLoadA, number), turns_.completed(kLoadB, number));
    if (completed >= kNever && turns_.taken(kLoadB) == number && turns_.is_busy(kLoadB)) {
      is_ahead = load_b_->k() > store_->i() ||
                 (load_b_->k() == store_->i() && load_b_->j() >= store_->j() + store_->blocks());
    }
  } else if (completed >= kNever && execute_->k() == loop.k_blocks - 1) {
    const int64_t next_j = store_->j() + store_->blocks();
    is_ahead =
        execute_->j() >= next_j || (execute_->j() == next_j - 1 && execute_->i() > store_->i());
  }
  return is_ahead ? from : std::max(from, completed);
}

Cycle MatmulUnroller::execute_ready() const {
  const Cycle from = ready(kExecute, Queue::kExecute);
  if (from >= kNever) return kNever;
  const int64_t number = turns_.taken(kExecute);
  const loops::MatmulExecute& at = *execute_;
  Cycle a = turns_.completed(kLoadA, number);
  Cycle b = turns_.completed(kLoadB, number);
  if (a >= kNever && (load_a_->k() > at.k() || (load_a_->k() == at.k() && load_a_->i() > at.i()))) {
    a = from;
  }
  // The hardware compares A's k a second time where it means B's.
  const int64_t k_of_a = load_a_ ? load_a_->k() : 0;
  if (b >= kNever && (load_b_->k() > at.k() || (k_of_a == at.k() && load_b_->j() > at.j()))) {
    b = from;
  }
  return std::max({from, a, b, turns_.completed(kLoadD, number)});
}

MatmulUnroller::Unit MatmulUnroller::choose_load(Cycle now) const {
  const int64_t a = turns_.loop_at(kLoadA, now);
  const int64_t b = turns_.loop_at(kLoadB, now);
  const int64_t head = turns_.head_at(now);
  const bool is_a_idle = turns_.is_idle_at(kLoadA, now);
  const bool is_residual_add = loop_of(std::max<int64_t>(0, turns_.taken(kLoadA))).is_residual_add;
  const bool is_a_forced = is_residual_add ? a == b && !is_a_idle : a != b && a == head;
  const bool is_b_forced = (a != b && b == head) || (is_residual_add && is_a_idle);
  if (is_a_forced) return kLoadA;
  if (is_b_forced || is_a_idle) return kLoadB;
  if (turns_.is_idle_at(kLoadB, now)) return kLoadA;
  const bool is_b_behind = load_a_->k() > load_b_->k() || (load_b_->k() == 0 && load_b_->j() == 0);
  return is_b_behind ? kLoadB : kLoadA;
}

Cycle MatmulUnroller::load_ab_ready() const {
  const Cycle a = ready(kLoadA, Queue::kLoad);
  const Cycle b = ready(kLoadB, Queue::kLoad);
  if (a >= kNever && b >= kNever) return kNever;
  // The choice changes when a unit begins or becomes idle, or a loop ends.
  const Cycle first = std::min(a, b);
  Cycle now = first;
  for (;;) {
    const Cycle chosen = choose_load(now) == kLoadA ? a : b;
    if (chosen <= now) return now;
    Cycle later = kNever;
    const int64_t head = turns_.head_at(now);
    const Cycle changes[] = {a,
                             b,
                             turns_.active_from(kLoadA),
                             turns_.active_from(kLoadB),
                             turns_.idle_from(kLoadA),
                             turns_.idle_from(kLoadB),
                             head < turns_.count() ? turns_.freed(head) : kNever};
    for (const Cycle change : changes) {
      if (change > now) later = std::min(later, change);
    }
    if (later >= kNever) return kNever;
    now = later;
  }
}

Cycle MatmulUnroller::next_step() const {
  return std::min({store_ready(), execute_ready(), ready(kLoadD, Queue::kLoad), load_ab_ready()});
}

Command MatmulUnroller::step(Cycle now) {
  if (store_ready() <= now) return issue(kStore, now);
  if (execute_ready() <= now) return issue(kExecute, now);
  if (ready(kLoadD, Queue::kLoad) <= now) return issue(kLoadD, now);
  return issue(choose_load(now), now);
}

Command MatmulUnroller::issue(Unit unit, Cycle now) {
  const auto next_of = [&](auto& part) {
    const Command command = *part->next();
    if (part->is_done()) turns_.finish(unit, now + 1);
    return command;
  };
  next_free_ = now + 1;
  issued_loop_ = turns_.taken(unit);
  const Command command = unit == kLoadA     ? next_of(load_a_)
                          : unit == kLoadB   ? next_of(load_b_)
                          : unit == kLoadD   ? next_of(load_d_)
                          : unit == kExecute ? next_of(execute_)
                                             : next_of(store_);
  if (!turns_.is_busy(unit)) take_up();
  return command;
}

}  // namespace npu::gemmini::timing
