#include "execute.h"

#include <algorithm>

#include "stages.h"

namespace npu::sim::timing {
namespace {

// A run is at least this long: the accumulator needs it between two writes to one row.
constexpr int64_t kLeastRows = 4;

}  // namespace

ExecuteUnit::ExecuteUnit(const Config& config, ReservationStation& station,
                         PortCalendar& spad_writes, PortCalendar& spad_reads,
                         PortCalendar& acc_reads)
    : config_(config),
      station_(station),
      spad_writes_(spad_writes),
      spad_reads_(spad_reads),
      mesh_(config, station, acc_reads) {}

Cycle ExecuteUnit::arrival(unsigned position) const {
  const Id id = station_.pending(Queue::kExecute, position);
  if (id == ReservationStation::kNone || station_.issued(id) == kNever) return kNever;
  return station_.issued(id) + kExecuteQueueStages;
}

const ExecuteOperation* ExecuteUnit::visible(unsigned position, Cycle now) const {
  if (arrival(position) > now) return nullptr;
  return &station_.operation(station_.pending(Queue::kExecute, position)).execute;
}

Cycle ExecuteUnit::operands_ready(const ExecuteOperation& operation) const {
  const Cycle first = mesh_.result_out(operation.first);
  if (operation.kind != ExecuteKind::kCompute) return first;
  return std::max(first, mesh_.result_out(operation.second));
}

Cycle ExecuteUnit::next_step() const {
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
  station_.complete(station_.take(Queue::kExecute), now);
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

Cycle ExecuteUnit::feed(Cycle start, int64_t rows, const ExecuteOperation* compute,
                        const ExecuteOperation* preload) {
  const BankMask a = compute != nullptr ? compute->first.spad_banks : 0;
  const BankMask b = compute != nullptr ? compute->second.spad_banks : 0;
  const BankMask d = preload != nullptr ? preload->first.spad_banks : 0;
  // Operands in one bank take turns.
  int64_t reads = rows;
  if ((a & b) != 0 || (a & d) != 0 || (b & d) != 0) reads += rows;
  if ((a & b & d) != 0) reads += rows;
  const Cycle end = spad_writes_.after_free(a | b | d, start, reads);
  spad_reads_.take(a | b | d, start, end);
  busy_cycles_ += end - start;
  conflict_cycles_ += end - start - rows;
  return end;
}

void ExecuteUnit::run(Cycle now, bool has_compute, bool has_preload) {
  const Id compute_id = has_compute ? station_.take(Queue::kExecute) : ReservationStation::kNone;
  const Id preload_id = has_preload ? station_.take(Queue::kExecute) : ReservationStation::kNone;
  const ExecuteOperation* compute = has_compute ? &station_.operation(compute_id).execute : nullptr;
  const ExecuteOperation* preload = has_preload ? &station_.operation(preload_id).execute : nullptr;

  Cycle start = std::max(now, mesh_.earliest_request());
  if (compute == nullptr) {
    // Its own operand, and those of the command after it.
    start = std::max(start, operands_ready(*preload) + 1);
    start = std::max(start, operands_ready(*visible(0, now)) + 1);
  }
  Cycle end = feed(start, rows_to_feed(compute, preload), compute, preload);

  if (compute != nullptr) {
    is_weight_stationary_ = compute->mode.is_weight_stationary;
    count_macs(*compute);
    station_.complete(compute_id, end);
  }
  Id wants_result = ReservationStation::kNone;
  if (preload != nullptr) {
    is_weight_stationary_ = preload->mode.is_weight_stationary;
    result_cols_ = preload->second.cols;
    if (is_weight_stationary_ && preload->mode.is_b_transposed && !preload->first.is_garbage()) {
      // The first pass filled the transposer; a second brings the weights into the array.
      mesh_.request(start, end, ReservationStation::kNone);
      start = std::max(end, mesh_.earliest_request());
      end = feed(start, config_.dim, nullptr, nullptr);
    }
    if (preload->second.is_garbage()) {
      station_.complete(preload_id, end + (has_compute ? 1 : 0));
    } else {
      wants_result = preload_id;
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
