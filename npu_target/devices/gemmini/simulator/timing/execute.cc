#include "gemmini/simulator/timing/execute.h"

#include <algorithm>

#include "gemmini/simulator/timing/rows_fed.h"
#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {
namespace {

// Data that are asked for take longer than this to reach a bank.
constexpr Cycle kLookAheadCycles = 16;

}  // namespace

ExecuteUnit::ExecuteUnit(const Config& config, ReservationStation& station,
                         PortCalendar& spad_writes, PortCalendar& spad_reads,
                         PortCalendar& acc_reads, PortCalendar& acc_writes)
    : config_(config),
      station_(station),
      spad_writes_(spad_writes),
      spad_reads_(spad_reads),
      mesh_(config, station, acc_reads, acc_writes) {}

void ExecuteUnit::step(Cycle now) {
  Run run;
  if (rarely(is_running_)) {
    run = run_;
  } else {
    const ExecuteOperation* head = visible(0, now);
    const bool has_compute = head != nullptr && head->kind == ExecuteKind::kCompute;
    if (rarely(!has_compute) && !begins_alone(head, now)) return;
    run = begin_run(now, has_compute, !has_compute || runs_together(now));
  }
  is_running_ = run.next > now || !feed(run, now);
  if (rarely(is_running_)) {
    run_ = run;
  } else {
    end_run(run);
  }
}

bool ExecuteUnit::begins_alone(const ExecuteOperation* head, Cycle now) {
  if (must_flush(head, now)) {
    run_flush(now);
    return false;
  }
  if (head->kind == ExecuteKind::kConfig) {
    run_config(now);
    return false;
  }
  return true;
}

bool ExecuteUnit::must_flush(const ExecuteOperation* head, Cycle now) const {
  if (head == nullptr) return true;
  if (head->kind == ExecuteKind::kConfig) return mesh_.has_pending();
  // Nothing after it yet, or it waits for a result that nothing pushes out.
  const ExecuteOperation* next = visible(1, now);
  return next == nullptr || std::max(operands_ready(*head), operands_ready(*next)) >= kNever;
}

bool ExecuteUnit::runs_together(Cycle now) const {
  // What was issued before the third has reached the controller before it.
  const ExecuteOperation* compute = visible(2, now);
  if (compute == nullptr) return false;
  const ExecuteOperation& preload = operation(station_.pending(Queue::kExecute, 1));
  return preload.kind == ExecuteKind::kPreload && operands_ready(preload) < now &&
         operands_ready(*compute) < now;
}

Cycle ExecuteUnit::look_for_results(const ExecuteOperation& operation) const {
  const Cycle first = mesh_.result_out(operation.first);
  if (operation.kind != ExecuteKind::kCompute) return first;
  return std::max(first, mesh_.result_out(operation.second));
}

void ExecuteUnit::run_config(Cycle now) {
  const Id config = station_.take(Queue::kExecute);
  if (Recorder* recorder = station_.recorder()) {
    recorder->starts_run(config, ReservationStation::kNone, now);
    recorder->works(config, now, now + 1);
  }
  station_.complete(Queue::kExecute, config, now);
  free_ = now + 1;
}

void ExecuteUnit::run_flush(Cycle now) {
  const Cycle start = std::max(now, mesh_.earliest_request());
  free_ = start + config_.dim;
  mesh_.request(start, free_, ReservationStation::kNone);
}

Cycle ExecuteUnit::wait_for_operands(const ExecuteOperation& preload, Cycle start,
                                     Cycle now) const {
  // Its own operand, and those of the command after it.
  return std::max({start, operands_ready(preload) + 1, operands_ready(*visible(0, now)) + 1});
}

ExecuteUnit::Run ExecuteUnit::begin_run(Cycle now, bool has_compute, bool has_preload) {
  Run run;
  run.compute = has_compute ? station_.take(Queue::kExecute) : ReservationStation::kNone;
  run.preload = has_preload ? station_.take(Queue::kExecute) : ReservationStation::kNone;
  const ExecuteOperation* compute = has_compute ? &operation(run.compute) : nullptr;
  const ExecuteOperation* preload = has_preload ? &operation(run.preload) : nullptr;

  Cycle start = std::max(now, mesh_.earliest_request());
  if (!has_compute) start = wait_for_operands(*preload, start, now);
  if (Recorder* recorder = station_.recorder()) {
    if (has_compute) {
      recorder->starts_run(run.compute, ReservationStation::kNone, start);
    } else {
      recorder->starts_run(run.preload, station_.pending(Queue::kExecute, 0), start);
    }
  }
  const BankMask a = has_compute ? compute->first.spad_banks : 0;
  const BankMask b = has_compute ? compute->second.spad_banks : 0;
  const BankMask d = has_preload ? preload->first.spad_banks : 0;
  const BankMask shared = (a & b) | (a & d) | (b & d);
  run.banks = a | b | d;
  run.rows = run.reads_left = rows_fed(compute, preload, config_.dim);
  // Operands in one bank take turns.
  if (shared != 0) run.reads_left += (a & b & d) != 0 ? 2 * run.rows : run.rows;
  run.start = run.next = start;
  return run;
}

bool ExecuteUnit::feed(Run& run, Cycle now) {
  const Cycle from = run.next;
  const PortCalendar::Used used =
      spad_writes_.after_free(run.banks, from, now + kLookAheadCycles, run.reads_left);
  run.next = used.end;
  run.reads_left = used.left;
  spad_reads_.take(run.banks, from, run.next);
  return run.reads_left == 0;
}

void ExecuteUnit::end_run(const Run& run) {
  const bool has_compute = run.compute != ReservationStation::kNone;
  Cycle start = run.start;
  Cycle end = run.next;
  busy_cycles_ += end - start;
  conflict_cycles_ += end - start - run.rows;
  if (Recorder* recorder = station_.recorder()) {
    recorder->ends_run(run.compute, run.preload, start, run.rows, end);
  }
  if (has_compute) {
    const ExecuteOperation& compute = operation(run.compute);
    is_weight_stationary_ = compute.mode.is_weight_stationary;
    if (!compute.first.is_garbage()) {
      macs_ += compute.first.rows() * compute.first.cols() * result_cols_;
    }
    station_.complete(Queue::kExecute, run.compute, end);
  }
  Id wants_result = ReservationStation::kNone;
  if (run.preload != ReservationStation::kNone) {
    const ExecuteOperation& preload = operation(run.preload);
    is_weight_stationary_ = preload.mode.is_weight_stationary;
    result_cols_ = preload.second.cols();
    if (rarely(preload.mode.is_b_transposed) && is_weight_stationary_ &&
        !preload.first.is_garbage()) {
      run_second_pass(start, end);
    }
    if (rarely(preload.second.is_garbage())) {
      station_.complete(Queue::kExecute, run.preload, end + (has_compute ? 1 : 0));
    } else {
      wants_result = run.preload;
    }
  }
  mesh_.request(start, end, wants_result);
  free_ = end;
}

void ExecuteUnit::run_second_pass(Cycle& start, Cycle& end) {
  // The first pass filled the transposer; a second brings the weights into the array.
  mesh_.request(start, end, ReservationStation::kNone);
  start = std::max(end, mesh_.earliest_request());
  end = start + config_.dim;
  busy_cycles_ += config_.dim;
  if (Recorder* recorder = station_.recorder()) recorder->second_pass(start, end);
}

}  // namespace npu::gemmini::timing
