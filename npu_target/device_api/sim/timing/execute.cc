#include "execute.h"

#include <algorithm>

#include "stages.h"

namespace npu::sim::timing {
namespace {

// A run is at least this long: the accumulator needs it between two writes to one row.
constexpr int64_t kLeastRows = 4;
// Data that are asked for take longer than this to reach a bank.
constexpr Cycle kLookAheadCycles = 16;

}  // namespace

ExecuteUnit::ExecuteUnit(const Config& config, ReservationStation& station,
                         PortCalendar& spad_writes, PortCalendar& spad_reads,
                         PortCalendar& acc_reads)
    : config_(config),
      station_(station),
      spad_writes_(spad_writes),
      spad_reads_(spad_reads),
      mesh_(config, station, acc_reads) {}

void ExecuteUnit::step(Cycle now) {
  if (is_running_ || begin(now)) feed(now);
}

bool ExecuteUnit::begin(Cycle now) {
  const ExecuteOperation* head = visible(0, now);
  const bool has_compute = head != nullptr && head->kind == ExecuteKind::kCompute;
  if (!has_compute) {
    if (must_flush(head, now)) {
      run_flush(now);
      return false;
    }
    if (head->kind == ExecuteKind::kConfig) {
      run_config(now);
      return false;
    }
  }
  return begin_run(now, has_compute, !has_compute || runs_together(now));
}

bool ExecuteUnit::must_flush(const ExecuteOperation* head, Cycle now) const {
  if (head == nullptr) return true;
  if (head->kind == ExecuteKind::kConfig) return mesh_.has_pending();
  // Nothing after it yet, or it waits for a result that nothing pushes out.
  const ExecuteOperation* next = visible(1, now);
  return next == nullptr || std::max(operands_ready(*head), operands_ready(*next)) >= kNever;
}

bool ExecuteUnit::runs_together(Cycle now) const {
  const ExecuteOperation* preload = visible(1, now);
  const ExecuteOperation* compute = visible(2, now);
  return preload != nullptr && compute != nullptr && preload->kind == ExecuteKind::kPreload &&
         operands_ready(*preload) < now && operands_ready(*compute) < now;
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

int64_t ExecuteUnit::rows_to_feed(const ExecuteOperation* compute,
                                  const ExecuteOperation* preload) const {
  const bool feeds_new = preload != nullptr && !preload->first.is_garbage();
  if (feeds_new || (compute != nullptr ? compute : preload)->mode.takes_all_rows) {
    return config_.dim;
  }
  int64_t rows = kLeastRows;
  if (compute != nullptr) {
    if (!compute->first.is_garbage()) rows = std::max(rows, compute->first.rows());
    if (!compute->second.is_garbage()) rows = std::max(rows, compute->second.rows());
  }
  return rows;
}

Cycle ExecuteUnit::wait_for_operands(const ExecuteOperation& preload, Cycle start,
                                     Cycle now) const {
  // Its own operand, and those of the command after it.
  return std::max({start, operands_ready(preload) + 1, operands_ready(*visible(0, now)) + 1});
}

bool ExecuteUnit::begin_run(Cycle now, bool has_compute, bool has_preload) {
  run_.compute = has_compute ? station_.take(Queue::kExecute) : ReservationStation::kNone;
  run_.preload = has_preload ? station_.take(Queue::kExecute) : ReservationStation::kNone;
  const ExecuteOperation* compute = has_compute ? &operation(run_.compute) : nullptr;
  const ExecuteOperation* preload = has_preload ? &operation(run_.preload) : nullptr;

  Cycle start = std::max(now, mesh_.earliest_request());
  if (!has_compute) start = wait_for_operands(*preload, start, now);
  if (Recorder* recorder = station_.recorder()) {
    if (has_compute) {
      recorder->starts_run(run_.compute, ReservationStation::kNone, start);
    } else {
      recorder->starts_run(run_.preload, station_.pending(Queue::kExecute, 0), start);
    }
  }
  const BankMask a = has_compute ? compute->first.spad_banks : 0;
  const BankMask b = has_compute ? compute->second.spad_banks : 0;
  const BankMask d = has_preload ? preload->first.spad_banks : 0;
  const BankMask shared = (a & b) | (a & d) | (b & d);
  run_.banks = a | b | d;
  run_.rows = run_.reads_left = rows_to_feed(compute, preload);
  // Operands in one bank take turns.
  if (shared != 0) run_.reads_left += (a & b & d) != 0 ? 2 * run_.rows : run_.rows;
  run_.start = run_.next = start;
  is_running_ = true;
  return start == now;
}

void ExecuteUnit::feed(Cycle now) {
  const Cycle from = run_.next;
  run_.next = spad_writes_.after_free(run_.banks, from, now + kLookAheadCycles, run_.reads_left);
  spad_reads_.take(run_.banks, from, run_.next);
  if (run_.reads_left == 0) end_run();
}

void ExecuteUnit::end_run() {
  is_running_ = false;
  const bool has_compute = run_.compute != ReservationStation::kNone;
  Cycle start = run_.start;
  Cycle end = run_.next;
  busy_cycles_ += end - start;
  conflict_cycles_ += end - start - run_.rows;
  if (Recorder* recorder = station_.recorder()) {
    recorder->ends_run(run_.compute, run_.preload, start, run_.rows, end);
  }
  if (has_compute) {
    const ExecuteOperation& compute = operation(run_.compute);
    is_weight_stationary_ = compute.mode.is_weight_stationary;
    if (!compute.first.is_garbage()) {
      macs_ += compute.first.rows() * compute.first.cols() * result_cols_;
    }
    station_.complete(Queue::kExecute, run_.compute, end);
  }
  Id wants_result = ReservationStation::kNone;
  if (run_.preload != ReservationStation::kNone) {
    const ExecuteOperation& preload = operation(run_.preload);
    is_weight_stationary_ = preload.mode.is_weight_stationary;
    result_cols_ = preload.second.cols();
    if (is_weight_stationary_ && preload.mode.is_b_transposed && !preload.first.is_garbage()) {
      run_second_pass(start, end);
    }
    if (preload.second.is_garbage()) {
      station_.complete(Queue::kExecute, run_.preload, end + (has_compute ? 1 : 0));
    } else {
      wants_result = run_.preload;
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

}  // namespace npu::sim::timing
