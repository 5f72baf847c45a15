// The systolic array behind the execute controller: how long results take to come out.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/in_flight.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/operation.h"
#include "gemmini/simulator/timing/ports.h"
#include "gemmini/simulator/timing/reservation_station.h"
#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {

// Policy (MeshWithDelays.scala, Mesh.scala): a request feeds some rows into the array, one per
// cycle. Row r leaves 2 * dim + 1 cycles after it entered: one buffer, dim - 1 of skew, dim rows
// of processing elements and one output register. Every request puts a tag (where its PRELOAD
// wants C) into a queue of `mesh_tag_queue_entries`; the tag leaves with the last row of the
// following request when weight-stationary, of the one after that when output-stationary, and a
// request cannot enter while the queue is full. The PRELOAD completes when its tag leaves.
class Mesh {
 public:
  Mesh(const Config& config, ReservationStation& station, PortCalendar& acc_reads,
       PortCalendar& acc_writes);

  // The first cycle in which the rows of the next request may be read.
  Cycle earliest_request() const {
    // The request enters kArrayReadStages after its first row is read, the cycle after a tag left.
    return out_.earliest() - kArrayReadStages;
  }

  // A request whose rows are read in cycles [start, end). `preload` is the PRELOAD in it that
  // wants a result, kNone if there is none.
  NPU_INLINE void request(Cycle start, Cycle end, ReservationStation::Id preload) {
    out_.push(end - 1 + latency_);
    ++requests_;
    while (pending_count_ != 0 && pending_[0].leaves_with == requests_) leave(start, end);
    if (preload == ReservationStation::kNone) return;
    const ExecuteOperation& operation = station_.operation(preload).execute;
    pending_[pending_count_++] = {preload, operation.second.address(),
                                  requests_ + (operation.mode.is_weight_stationary ? 1 : 2)};
    if (operation.acc_banks == 0) last_spad_result_ = kNever;
  }

  // Whether a result is on its way that no request so far pushes out.
  bool has_pending() const { return pending_count_ != 0; }
  // The last cycle in which a result that is being pushed out leaves.
  Cycle last_result() const { return last_result_; }
  // Whether there ever was a result for the scratchpad.
  bool has_spad_results() const { return last_spad_result_ >= 0; }
  // When the results for exactly the operand's local address are out, kNever while nothing pushes
  // them out; -1 if there are none.
  Cycle result_out(const ArrayOperand& operand) const {
    if (operand.spad_banks != 0 ? last_spad_result_ < 0 : operand.is_garbage()) return -1;
    return result_of(operand.address());
  }

 private:
  struct Pending {
    ReservationStation::Id preload;
    uint32_t address;
    int64_t leaves_with;  // the request of this number
  };
  struct Leaving {
    uint32_t address;
    Cycle last;
  };
  NPU_RARE Cycle result_of(uint32_t address) const;
  // The oldest pending result leaves with a request.
  NPU_INLINE void leave(Cycle start, Cycle end) {
    const ReservationStation::Id preload = pending_[0].preload;
    const ExecuteOperation& operation = station_.operation(preload).execute;
    last_result_ = end - 1 + latency_;
    leaving_[next_leaving_] = {pending_[0].address, last_result_};
    next_leaving_ = next_leaving_ == last_leaving_ ? 0 : next_leaving_ + 1;
    for (size_t i = 1; i < pending_count_; ++i) pending_[i - 1] = pending_[i];
    --pending_count_;
    if (operation.acc_banks == 0) last_spad_result_ = last_result_;
    const Cycle rows_end = std::min<Cycle>(end, start + operation.second.rows()) + latency_;
    acc_writes_.take(operation.acc_banks, start + latency_, rows_end);
    if (operation.accumulates) acc_reads_.take(operation.acc_banks, start + latency_, rows_end);
    station_.complete(Queue::kExecute, preload, last_result_, true);
  }

  const Cycle latency_;
  ReservationStation& station_;
  PortCalendar& acc_reads_;
  PortCalendar& acc_writes_;
  std::array<Pending, 3> pending_{};  // the oldest first
  size_t pending_count_ = 0;
  int64_t requests_ = 0;
  std::vector<Leaving> leaving_;  // a ring of the latest results
  const size_t last_leaving_;
  size_t next_leaving_ = 0;
  InFlight out_;  // last rows of the latest requests
  Cycle last_result_ = -1;
  Cycle last_spad_result_ = -1;  // kNever while one is pending
};

}  // namespace npu::gemmini::timing
