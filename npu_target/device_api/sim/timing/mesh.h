// The systolic array behind the execute controller: how long results take to come out.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "config.h"
#include "cycle.h"
#include "inline.h"
#include "operation.h"
#include "ports.h"
#include "reservation_station.h"
#include "stages.h"

namespace npu::sim::timing {

// Policy (MeshWithDelays.scala, Mesh.scala): a request feeds some rows into the array, one per
// cycle. Row r leaves 2 * dim + 1 cycles after it entered: one buffer, dim - 1 of skew, dim rows
// of processing elements and one output register. Every request puts a tag (where its PRELOAD
// wants C) into a queue of `mesh_tag_queue_entries`; the tag leaves with the last row of the
// following request when weight-stationary, of the one after that when output-stationary, and a
// request cannot enter while the queue is full. The PRELOAD completes when its tag leaves.
class Mesh {
 public:
  Mesh(const Config& config, ReservationStation& station, PortCalendar& acc_reads);

  // The first cycle in which the rows of the next request may be read.
  Cycle earliest_request() const {
    // The request enters kArrayReadStages after its first row is read, the cycle after a tag left.
    return out_[next_out_] + 1 - kArrayReadStages;
  }

  // A request whose rows are read in cycles [start, end). `preload` is the PRELOAD in it that
  // wants a result, kNone if there is none.
  NPU_INLINE void request(Cycle start, Cycle end, ReservationStation::Id preload) {
    out_[next_out_] = end - 1 + latency_;
    next_out_ = next_out_ + 1 == out_.size() ? 0 : next_out_ + 1;
    size_t kept = 0;
    for (size_t i = 0; i < pending_count_; ++i) {
      if (--pending_[i].requests_left == 0) {
        leave(pending_[i].preload, start, end);
      } else {
        pending_[kept++] = pending_[i];
      }
    }
    pending_count_ = kept;
    if (preload == ReservationStation::kNone) return;
    const ExecuteOperation& operation = station_.operation(preload).execute;
    pending_[pending_count_++] = {preload, operation.second.address(),
                                  operation.mode.is_weight_stationary ? 1 : 2};
    if (operation.acc_banks == 0) last_spad_result_ = kNever;
  }

  // Whether a result is on its way that no request so far pushes out.
  bool has_pending() const { return pending_count_ != 0; }
  // The last cycle in which a result that is being pushed out leaves.
  Cycle last_result() const { return last_result_; }
  // When the results for exactly the operand's local address are out, kNever while nothing pushes
  // them out; -1 if there are none.
  Cycle result_out(const ArrayOperand& operand) const {
    if (operand.is_garbage()) return -1;
    // Results go to the accumulator as a rule, operands come from the scratchpad.
    if (operand.spad_banks != 0 && last_spad_result_ < 0) return -1;
    return result_of(operand.address());
  }

 private:
  struct Pending {
    ReservationStation::Id preload;
    uint32_t address;
    int requests_left;
  };
  struct Leaving {
    uint32_t address;
    Cycle last;
  };
  Cycle result_of(uint32_t address) const;
  NPU_INLINE void leave(ReservationStation::Id preload, Cycle start, Cycle end) {
    const ExecuteOperation& operation = station_.operation(preload).execute;
    const Cycle last = end - 1 + latency_;
    last_result_ = std::max(last_result_, last);
    leaving_[next_leaving_] = {operation.second.address(), last};
    next_leaving_ = next_leaving_ + 1 == leaving_.size() ? 0 : next_leaving_ + 1;
    if (operation.acc_banks == 0) last_spad_result_ = last;
    if (operation.accumulates) {
      acc_reads_.take(operation.acc_banks, start + latency_,
                      std::min<Cycle>(end, start + operation.second.rows()) + latency_);
    }
    station_.complete(Queue::kExecute, preload, last);
  }

  const Cycle latency_;
  ReservationStation& station_;
  PortCalendar& acc_reads_;
  std::array<Pending, 3> pending_{};  // the oldest first
  size_t pending_count_ = 0;
  std::vector<Leaving> leaving_;  // a ring of the latest results
  size_t next_leaving_ = 0;
  std::vector<Cycle> out_;  // last rows of the latest requests, a ring
  size_t next_out_ = 0;
  Cycle last_result_ = -1;
  Cycle last_spad_result_ = -1;  // kNever while one is pending
};

}  // namespace npu::sim::timing
