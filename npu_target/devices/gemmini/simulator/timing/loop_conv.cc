#include "gemmini/simulator/timing/loop_conv.h"

#include <algorithm>

namespace npu::gemmini::timing {
namespace {

constexpr Cycle kAddressStages = 2;
// A zero of a dilated input passes through both states of a pair.
constexpr Cycle kPassOverCycles = 2;

}  // namespace

void ConvUnroller::add(const loops::ConvLoop& loop, Cycle configured) {
  loops_[static_cast<size_t>(turns_.count()) % loops_.size()] = loop;
  turns_.add(configured);
  take_up();
}

void ConvUnroller::take_up() {
  // A unit may wait for one before it in this order only.
  for (const Unit unit : {kBias, kWeights, kInput, kExecute, kStore}) {
    while (take_up(unit)) {
    }
  }
}

bool ConvUnroller::take_up(Unit unit) {
  const int64_t number = turns_.next(unit);
  if (number == turns_.count()) return false;
  const Cycle when = request(unit, number);
  if (when >= kNever) return false;
  turns_.take(unit, when, begin(unit, loops_[static_cast<size_t>(number) % loops_.size()]));
  Pipeline& pipeline = pipelines_[unit];
  pipeline = {};
  pipeline.earliest_entry = when + 1;
  if (unit == kExecute) {
    pipeline.earliest_entry += kPassOverCycles * execute_->passed_over();
    // A loop whose every pixel meets a zero issues nothing.
    if (execute_->is_done()) turns_.finish(kExecute, pipeline.earliest_entry + 1);
  }
  return true;
}

Cycle ConvUnroller::request(Unit unit, int64_t number) const {
  const Cycle when = std::max(turns_.configured(number), turns_.idle_from(unit));
  switch (unit) {
    case kExecute:
      return std::max({when, turns_.started(kBias, number) + 1,
                       turns_.started(kWeights, number) + 1, turns_.started(kInput, number) + 1});
    case kStore:
      return std::max(when, turns_.started(kExecute, number) + 1);
    default:
      return when;
  }
}

// Returns whether there is anything to do.
bool ConvUnroller::begin(Unit unit, const loops::ConvLoop& loop) {
  switch (unit) {
    case kStore:
      return !store_.emplace(loop).is_done();
    case kExecute:
      return !execute_.emplace(loop).is_done();
    case kBias:
      return !bias_.emplace(loop).is_done();
    case kWeights:
      return !weights_.emplace(loop).is_done();
    case kInput:
      return !input_.emplace(loop).is_done();
  }
  return false;
}

Cycle ConvUnroller::loads_completed(int64_t number) const {
  return std::max({turns_.completed(kBias, number), turns_.completed(kWeights, number),
                   turns_.completed(kInput, number)});
}

Cycle ConvUnroller::gate(Unit unit) const {
  const int64_t number = turns_.taken(unit);
  switch (unit) {
    case kStore:
      return turns_.completed(kExecute, number);
    case kExecute:
      return loads_completed(number);
    default: {
      // Noted as completed the cycle after.
      const int64_t executing = turns_.taken(kExecute);
      return executing < 0 || executing == number ? kLongAgo : loads_completed(executing) + 1;
    }
  }
}

Cycle ConvUnroller::entry(Unit unit) const {
  return std::max(pipelines_[unit].earliest_entry, gate(unit));
}

Cycle ConvUnroller::ready(Unit unit) const {
  if (!turns_.is_busy(unit)) return kNever;
  const Cycle from =
      std::max({next_free_, entry(unit) + kAddressStages, pipelines_[unit].left + 1});
  const Queue queue = unit == kStore     ? Queue::kStore
                      : unit == kExecute ? Queue::kExecute
                                         : Queue::kLoad;
  return station_.is_full(queue) ? std::max(from, station_.next_release(queue)) : from;
}

Cycle ConvUnroller::next_step() const {
  Cycle next = kNever;
  for (const Unit unit : {kStore, kExecute, kBias, kWeights, kInput}) {
    next = std::min(next, ready(unit));
  }
  return next;
}

Command ConvUnroller::step(Cycle now) {
  for (const Unit unit : {kStore, kExecute, kBias, kWeights}) {
    if (ready(unit) <= now) return issue(unit, now);
  }
  return issue(kInput, now);
}

Command ConvUnroller::issue(Unit unit, Cycle now) {
  bool is_done = false;
  const auto next_of = [&](auto& part) {
    const Command command = *part->next();
    is_done = part->is_done();
    return command;
  };
  Pipeline& pipeline = pipelines_[unit];
  const Cycle entered = entry(unit);
  const Command command = unit == kStore     ? next_of(store_)
                          : unit == kExecute ? next_of(execute_)
                          : unit == kBias    ? next_of(bias_)
                          : unit == kWeights ? next_of(weights_)
                                             : next_of(input_);
  const Cycle passing_over =
      unit == kExecute ? kPassOverCycles * execute_->passed_over() : Cycle{0};
  pipeline.left_before = pipeline.left;
  pipeline.left = now;
  next_free_ = now + 1;
  issued_loop_ = turns_.taken(unit);
  if (is_done) {
    turns_.finish(unit, std::max(now, entered + passing_over) + 1);
    take_up();
  } else {
    pipeline.earliest_entry = std::max(entered + 1 + passing_over, pipeline.left_before);
  }
  return command;
}

}  // namespace npu::gemmini::timing
