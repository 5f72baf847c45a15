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

Cycle ExecuteUnit::operands_ready(const ExecuteOperation& operation) const {
  const Cycle first = mesh_.result_out(operation.first);
  if (operation.kind != ExecuteKind::kCompute) return first;
  return std::max(first, mesh_.result_out(operation.second));
}

Cycle ExecuteUnit::next_step() const {
  if (is_running_) return run_.next;
  Cycle start = std::max(arrival(0), free_);
  if (start < kNever) {
    const Id head = station_.pending(Queue::kExecute, 0);
    switch (station_.operation(head).execute.kind) {
      case ExecuteKind::kConfig:
        if (!mesh_.has_pending()) {
          start = std::max(start, mesh_.last_result() + kConfigDrainStages);
        }
        break;
      case ExecuteKind::kPreload:
        start = std::max(start, arrival(1));
        break;
      case ExecuteKind::kCompute:
        break;
    }
  }
  if (start > free_ && !is_weight_stationary_ && mesh_.has_pending()) return free_;
  return start;
}

void ExecuteUnit::step(Cycle now) {
  if (is_running_) {
    feed(now);
    return;
  }
  const ExecuteOperation* head = visible(0, now);
  if (must_flush(head, now)) {
    run_flush(now);
    return;
  }
  switch (head->kind) {
    case ExecuteKind::kConfig:
      run_config(now);
      return;
    case ExecuteKind::kPreload:
      run(now, false, true);
      return;
    case ExecuteKind::kCompute:
      run(now, true, runs_together(now));
      return;
  }
}

bool ExecuteUnit::must_flush(const ExecuteOperation* head, Cycle now) const {
  if (head == nullptr) return true;
  switch (head->kind) {
    case ExecuteKind::kConfig:
      return mesh_.has_pending();
    case ExecuteKind::kPreload: {
      // Nothing after it yet, or it waits for a result that nothing pushes out.
      const ExecuteOperation* next = visible(1, now);
      return next == nullptr || std::max(operands_ready(*head), operands_ready(*next)) >= kNever;
    }
    case ExecuteKind::kCompute:
      return false;
  }
  return false;
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
  station_.complete(config, now);
  free_ = now + 1;
}

void ExecuteUnit::run_flush(Cycle now) {
  const Cycle start = std::max(now, mesh_.earliest_request());
  free_ = start + config_.dim;
  mesh_.request(start, free_, ReservationStation::kNone);
}

int64_t ExecuteUnit::rows_to_feed(const ExecuteOperation* compute,
                                  const ExecuteOperation* preload) const {
  const ArrayMode& mode = compute != nullptr ? compute->mode : preload->mode;
  const bool feeds_new = preload != nullptr && !preload->first.is_garbage();
  if (!mode.is_weight_stationary || mode.is_a_transposed || mode.is_b_transposed || feeds_new) {
    return config_.dim;
  }
  int64_t rows = kLeastRows;
  if (compute != nullptr) {
    if (!compute->first.is_garbage()) rows = std::max<int64_t>(rows, compute->first.rows);
    if (!compute->second.is_garbage()) rows = std::max<int64_t>(rows, compute->second.rows);
  }
  return rows;
}

void ExecuteUnit::begin_feed(Cycle start, const ExecuteOperation* compute,
                             const ExecuteOperation* preload) {
  const BankMask a = compute != nullptr ? compute->first.spad_banks : 0;
  const BankMask b = compute != nullptr ? compute->second.spad_banks : 0;
  const BankMask d = preload != nullptr ? preload->first.spad_banks : 0;
  run_.banks = a | b | d;
  run_.rows = rows_to_feed(compute, preload);
  // Operands in one bank take turns.
  run_.reads_left = run_.rows;
  if ((a & b) != 0 || (a & d) != 0 || (b & d) != 0) run_.reads_left += run_.rows;
  if ((a & b & d) != 0) run_.reads_left += run_.rows;
  run_.start = run_.next = start;
}

void ExecuteUnit::feed(Cycle now) {
  const Cycle from = run_.next;
  run_.next = spad_writes_.after_free(run_.banks, from, now + kLookAheadCycles, run_.reads_left);
  spad_reads_.take(run_.banks, from, run_.next);
  if (run_.reads_left == 0) end_run();
}

void ExecuteUnit::run(Cycle now, bool has_compute, bool has_preload) {
  run_.compute = has_compute ? station_.take(Queue::kExecute) : ReservationStation::kNone;
  run_.preload = has_preload ? station_.take(Queue::kExecute) : ReservationStation::kNone;
  const ExecuteOperation* compute =
      has_compute ? &station_.operation(run_.compute).execute : nullptr;
  const ExecuteOperation* preload =
      has_preload ? &station_.operation(run_.preload).execute : nullptr;

  Cycle start = std::max(now, mesh_.earliest_request());
  if (compute == nullptr) {
    // Its own operand, and those of the command after it.
    start = std::max(start, operands_ready(*preload) + 1);
    start = std::max(start, operands_ready(*visible(0, now)) + 1);
  }
  if (Recorder* recorder = station_.recorder()) {
    if (has_compute) {
      recorder->starts_run(run_.compute, ReservationStation::kNone, start);
    } else {
      recorder->starts_run(run_.preload, station_.pending(Queue::kExecute, 0), start);
    }
  }
  begin_feed(start, compute, preload);
  is_running_ = true;
  if (start == now) feed(now);
}

void ExecuteUnit::end_run() {
  is_running_ = false;
  const bool has_compute = run_.compute != ReservationStation::kNone;
  Cycle start = run_.start;
  Cycle end = run_.next;
  busy_cycles_ += end - start;
  conflict_cycles_ += end - start - run_.rows;
  Recorder* const recorder = station_.recorder();
  if (recorder != nullptr) recorder->ends_run(run_.compute, run_.preload, start, run_.rows, end);
  if (has_compute) {
    const ExecuteOperation& compute = station_.operation(run_.compute).execute;
    is_weight_stationary_ = compute.mode.is_weight_stationary;
    count_macs(compute);
    station_.complete(run_.compute, end);
  }
  Id wants_result = ReservationStation::kNone;
  if (run_.preload != ReservationStation::kNone) {
    const ExecuteOperation& preload = station_.operation(run_.preload).execute;
    is_weight_stationary_ = preload.mode.is_weight_stationary;
    result_cols_ = preload.second.cols;
    if (is_weight_stationary_ && preload.mode.is_b_transposed && !preload.first.is_garbage()) {
      // The first pass filled the transposer; a second brings the weights into the array.
      mesh_.request(start, end, ReservationStation::kNone);
      start = std::max(end, mesh_.earliest_request());
      end = start + config_.dim;
      busy_cycles_ += config_.dim;
      if (recorder != nullptr) recorder->second_pass(start, end);
    }
    if (preload.second.is_garbage()) {
      station_.complete(run_.preload, end + (has_compute ? 1 : 0));
    } else {
      wants_result = run_.preload;
    }
  }
  mesh_.request(start, end, wants_result);
  free_ = end;
}

void ExecuteUnit::count_macs(const ExecuteOperation& compute) {
  if (compute.first.is_garbage()) return;
  macs_ += int64_t{compute.first.rows} * compute.first.cols * result_cols_;
}

}  // namespace npu::sim::timing
