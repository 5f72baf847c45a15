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

Cycle ExecuteUnit::arrival(int position) {
  const Entry* entry = station_.pending(Queue::kExecute, position);
  if (entry == nullptr || entry->issued == kNever) return kNever;
  return entry->issued + kExecuteQueueStages;
}

ExecuteUnit::Entry* ExecuteUnit::visible(int position, Cycle now) {
  return arrival(position) <= now ? station_.pending(Queue::kExecute, position) : nullptr;
}

bool ExecuteUnit::is_blocked(const ExecuteOperation& operation, Cycle now) const {
  const auto awaited = [&](const ArrayOperand& operand) {
    return !operand.is_garbage && mesh_.result_out(operand.address) >= now;
  };
  return awaited(operation.first) || awaited(operation.second);
}

Cycle ExecuteUnit::next_step() {
  const Entry* head = station_.pending(Queue::kExecute, 0);
  Cycle start = std::max(arrival(0), free_);
  if (start < kNever) {
    switch (head->operation.execute.kind) {
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
  const Entry* head = visible(0, now);
  const bool is_idle = head == nullptr || (head->operation.execute.kind == ExecuteKind::kPreload &&
                                           visible(1, now) == nullptr);
  if (is_idle) {
    run_flush(now);
    return;
  }
  switch (head->operation.execute.kind) {
    case ExecuteKind::kConfig:
      if (mesh_.has_pending()) {
        run_flush(now);
      } else if (mesh_.last_result() + kConfigDrainStages <= now) {
        run_config(now);
      } else {
        free_ = mesh_.last_result() + kConfigDrainStages;
      }
      return;
    case ExecuteKind::kPreload:
      run(now, false, true);
      return;
    case ExecuteKind::kCompute:
      run(now, true, runs_together(now));
      return;
  }
}

bool ExecuteUnit::runs_together(Cycle now) {
  const Entry* preload = visible(1, now);
  const Entry* compute = visible(2, now);
  return preload != nullptr && compute != nullptr &&
         preload->operation.execute.kind == ExecuteKind::kPreload &&
         !is_blocked(preload->operation.execute, now) &&
         !is_blocked(compute->operation.execute, now);
}

void ExecuteUnit::run_config(Cycle now) {
  station_.complete(station_.take(Queue::kExecute), now);
  free_ = now + 1;
}

void ExecuteUnit::run_flush(Cycle now) {
  const Cycle start = std::max(now, mesh_.earliest_request());
  mesh_.request(start, start + config_.dim, Mesh::Tag{});
  free_ = start + config_.dim;
}

int64_t ExecuteUnit::rows_to_feed(const ExecuteOperation* compute,
                                  const ExecuteOperation* preload) const {
  const ExecuteOperation& any = compute != nullptr ? *compute : *preload;
  const bool feeds_new = preload != nullptr && !preload->first.is_garbage;
  if (!any.is_weight_stationary || any.is_a_transposed || any.is_b_transposed || feeds_new) {
    return config_.dim;
  }
  int64_t rows = kLeastRows;
  if (compute != nullptr) {
    rows = std::max(rows, compute->first.is_garbage ? 0 : compute->first.rows);
    rows = std::max(rows, compute->second.is_garbage ? 0 : compute->second.rows);
  }
  return std::min(rows, std::max(config_.dim, kLeastRows));
}

Cycle ExecuteUnit::feed(Cycle start, int64_t rows, const ExecuteOperation* compute,
                        const ExecuteOperation* preload) {
  const BankMask banks[] = {compute != nullptr ? compute->first.spad_banks : 0,
                            compute != nullptr ? compute->second.spad_banks : 0,
                            preload != nullptr ? preload->first.spad_banks : 0};
  BankMask all = 0;
  int64_t turns = 1;
  for (const BankMask bank : banks) {
    all |= bank;
    const auto same = std::count(std::begin(banks), std::end(banks), bank);
    if (bank != 0) turns = std::max<int64_t>(turns, same);
  }
  const int64_t reads = rows * turns;
  const Cycle end = all == 0 ? start + reads : spad_writes_.after_free(all, start, reads);
  spad_reads_.take(all, start, end);
  busy_cycles_ += end - start;
  conflict_cycles_ += end - start - rows;
  return end;
}

void ExecuteUnit::run(Cycle now, bool has_compute, bool has_preload) {
  ReservationStation::Id compute_id = ReservationStation::kNone;
  ReservationStation::Id preload_id = ReservationStation::kNone;
  Cycle start = std::max(now, mesh_.earliest_request());
  if (has_compute) compute_id = station_.take(Queue::kExecute);
  if (has_preload) {
    if (!has_compute) {
      const Entry* head = station_.pending(Queue::kExecute, 0);
      for (const ArrayOperand* operand :
           {&head->operation.execute.first, &head->operation.execute.second}) {
        if (operand->is_garbage) continue;
        const Cycle out = mesh_.result_out(operand->address);
        if (out < kNever) start = std::max(start, out + 1);
      }
    }
    preload_id = station_.take(Queue::kExecute);
  }
  const ExecuteOperation* compute =
      has_compute ? &station_.entry(compute_id).operation.execute : nullptr;
  const ExecuteOperation* preload =
      has_preload ? &station_.entry(preload_id).operation.execute : nullptr;

  is_weight_stationary_ = (has_compute ? *compute : *preload).is_weight_stationary;
  Cycle end = feed(start, rows_to_feed(compute, preload), compute, preload);
  if (compute != nullptr) count_macs(*compute);

  Mesh::Tag tag;
  if (preload != nullptr) {
    result_cols_ = preload->result.cols;
    tag.is_weight_stationary = preload->is_weight_stationary;
    if (!preload->result.is_garbage) {
      tag.id = preload_id;
      tag.address = preload->result.address;
      tag.rows = preload->result.rows;
      tag.acc_banks = preload->acc_banks;
      tag.accumulates = preload->accumulates;
    }
    if (preload->is_weight_stationary && preload->is_b_transposed && !preload->first.is_garbage) {
      // The first pass filled the transposer; a second brings the weights into the array.
      mesh_.request(start, end, Mesh::Tag{});
      start = std::max(end, mesh_.earliest_request());
      end = feed(start, config_.dim, nullptr, nullptr);
    }
  }
  mesh_.request(start, end, tag);
  if (has_compute) station_.complete(compute_id, end);
  if (has_preload && tag.id == ReservationStation::kNone) {
    station_.complete(preload_id, end + (has_compute ? 1 : 0));
  }
  free_ = end;
}

void ExecuteUnit::count_macs(const ExecuteOperation& compute) {
  if (compute.first.is_garbage) return;
  macs_ += compute.first.rows * compute.first.cols * result_cols_;
}

}  // namespace npu::sim::timing
