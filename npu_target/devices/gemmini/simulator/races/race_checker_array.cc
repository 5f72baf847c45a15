// What the race checker asks of the array's commands.
#include <algorithm>

#include "gemmini/simulator/races/race_checker.h"

namespace npu::gemmini::races {
namespace {

// How far apart so many rows are that the reservation station compares as this range.
int64_t step_of(const timing::RowRange& range, int64_t rows) {
  return rows == 0 ? 1 : std::max<int64_t>(1, (range.end - range.start) / rows);
}

}  // namespace

void RaceChecker::execute(const timing::Operation& operation, const Command& command,
                          int64_t index) {
  ++array_commands_;
  if (is_concerned(operation)) check_array(operation, command, index);
  if (operation.writes_first) {
    preload(operation, command, index);
  } else {
    compute(operation, command, index);
  }
}

void RaceChecker::preload(const timing::Operation& operation, const Command& command,
                          int64_t index) {
  const Span rows = rows_.span(operation.second);
  preload_rows_ = rows;
  preload_operand_ = {read_by(operation, rows), operation.execute.first.address()};
  array_reads_.use(rows, times_.now(Queue::kExecute));
  if (sums_.preload(operation)) fail_dropped(operation, {command, index});
  const timing::ArrayOperand& result = operation.execute.second;
  has_result_ = !result.is_garbage();
  if (!has_result_) return;
  result_ = {{command, index}, rows_.span(operation.first), result.address(), array_commands_};
}

void RaceChecker::compute(const timing::Operation& operation, const Command& command,
                          int64_t index) {
  const int32_t time = times_.now(Queue::kExecute);
  array_reads_.use(rows_.span(operation.second), time);
  array_reads_.use(rows_.span(operation.first), time);
  if (!results_.is_empty()) check_own_results(operation, {command, index});
  sums_.compute(operation);
  if (!has_result_) return;
  has_result_ = false;
  // The PRELOAD completes when this result is there, so it knows what this command knows.
  array_reads_.use(preload_rows_, time);
  array_writes_.use(result_.rows, time);
  if (!rows_.is_acc(result_.rows.start)) results_.add(result_);
}

void RaceChecker::check_array(const timing::Operation& operation, const Command& command,
                              int64_t index) {
  const Named now{command, index};
  const Span first = rows_.span(operation.first);
  const Span second = rows_.span(operation.second);
  const Span exposed = exposed_operand(operation, second);
  needs_every_time_ |= !exposed.is_empty();
  if (begins_time_ || needs_every_time_ || may_learn(operation.writes_first, first, second)) {
    learn(operation.writes_first, first, second);
  }
  if (has_exposed_loads_) {
    check_loads(Queue::kExecute, first, now);
    check_loads(Queue::kExecute, second, now);
  }
  read_rows(second, 1, now);
  expose(Queue::kExecute, exposed, now);
  if (operation.writes_first) check_exposed(Queue::kExecute, first, now);
  if (unsettled_.is_empty()) return;
  if (!operation.writes_first) {
    const timing::ArrayOperand& a = operation.execute.first;
    const int64_t lines = operation.execute.mode.is_a_transposed ? a.cols() : a.rows();
    read_rows(first, step_of(operation.first, lines), now);
    return;
  }
  const timing::ArrayOperand& result = operation.execute.second;
  if (result.is_garbage()) return;
  const int64_t step = step_of(operation.first, result.rows());
  if (operation.execute.accumulates) {
    read_rows(first, step, now);
  } else {
    unsettled_.settle(first, step);
  }
}

// The array waits for what uses its operands, the first of which it overwrites or reads. Only if it
// learns something from that a new time begins.
void RaceChecker::learn(bool overwrites, const Span& first, const Span& second) {
  const int64_t known_loads = loads_.known(Queue::kExecute);
  const int32_t time_before = times_.now(Queue::kExecute);
  advance(Queue::kExecute);
  const int32_t time = times_.now(Queue::kExecute);
  loads_.wait_for_loads(Queue::kExecute, first, time);
  loads_.wait_for_loads(Queue::kExecute, second, time);
  const int32_t known_store = times_.waited_for(Queue::kExecute, Queue::kStore);
  if (overwrites) {
    wait_for(Queue::kExecute, Queue::kStore, store_reads_.latest(first, known_store));
  }
  const bool knows_more = loads_.known(Queue::kExecute) != known_loads;
  if (!knows_more && !begins_time_ && !needs_every_time_) {
    times_.set(Queue::kExecute, time_before);
  }
  if (knows_more || begins_time_ ||
      times_.waited_for(Queue::kExecute, Queue::kStore) != known_store) {
    begins_time_ = false;
    find_unsure_parts();
  }
}

void RaceChecker::find_unsure_parts() {
  if (!unsettled_.is_empty()) {
    unsure_parts_ = kAllParts;
  } else {
    const int32_t known = times_.waited_for(Queue::kExecute, Queue::kStore);
    unsure_parts_ = loads_.unknown_parts(Queue::kExecute) | stores_.parts_after(known);
  }
}

// B is in the PRELOAD or in the COMPUTE. Of what is transposed, the reservation station sees as
// many rows as it has afterwards.
Span RaceChecker::exposed_operand(const timing::Operation& operation, const Span& order) const {
  const timing::ArrayMode& mode = operation.execute.mode;
  if (!mode.is_b_transposed || mode.is_weight_stationary != operation.writes_first) return {};
  const timing::ArrayOperand& b =
      operation.writes_first ? operation.execute.first : operation.execute.second;
  if (b.is_garbage() || b.cols() <= b.rows()) return {};
  return {order.start + b.rows(), std::min(order.start + b.cols(), rows_.end(false))};
}

Span RaceChecker::read_by(const timing::Operation& operation, const Span& order) const {
  const Span exposed = exposed_operand(operation, order);
  return exposed.is_empty() ? order : Span{order.start, exposed.end};
}

void RaceChecker::check_own_results(const timing::Operation& compute, const Named& now) {
  const ArrayResults::Operand operands[] = {
      preload_operand_,
      {rows_.span(compute.first), compute.execute.first.address()},
      {read_by(compute, rows_.span(compute.second)), compute.execute.second.address()},
  };
  if (const auto* unwritten = results_.read(operands, array_commands_)) {
    fail(now, unwritten->preload,
         "the array reads what it has not written yet of " + rows_.text(unwritten->rows) +
             "; it waits for a result only if an operand begins at the same row");
  }
}

void RaceChecker::fail_dropped(const timing::Operation& preload, const Named& now) const {
  fail(now, result_.preload,
       "the accumulator drops what is added to a row in the two cycles after it was written, and "
       "the last rows of that result are the first of " +
           rows_.text(rows_.span(preload.first)) + "; let another result come between the two");
}

}  // namespace npu::gemmini::races
