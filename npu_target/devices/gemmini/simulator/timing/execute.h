// The execute controller: PRELOADs and COMPUTEs from the reservation station to the array.
#pragma once

#include <algorithm>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/mesh.h"
#include "gemmini/simulator/timing/ports.h"
#include "gemmini/simulator/timing/reservation_station.h"
#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {

// Policy (ExecuteController.scala, TransposePreloadUnroller.scala): it looks at the three oldest
// commands that have reached it. A COMPUTE, the PRELOAD after it and the COMPUTE after that run
// the first two together; when they are not all there a COMPUTE runs alone, at once. A PRELOAD at
// the front runs alone when the command after it is there. A run reads one row of each operand per
// cycle for `dim` cycles; when weight-stationary with nothing new to preload and no transposition,
// only for as many as COMPUTE has rows, at least 4. Operands in the same scratchpad bank take
// turns; a bank that is being written waits. New weights that are transposed take one more pass.
// A CONFIG_EX waits until the array is empty. A command does not start while the array still
// holds a result for exactly its operand's address. COMPUTE completes when its rows have been
// read, PRELOAD when its result is out (see Mesh), or when read if it wants none.
//
// When output-stationary a result leaves only as later rows come in, so an idle controller pushes
// a run of its own into the array.
//
// A step is one run, or one CONFIG_EX. A run that is kept waiting for its banks takes several, so
// that it does not look further ahead than loads have written down what they use.
class ExecuteUnit {
 public:
  ExecuteUnit(const Config& config, ReservationStation& station, PortCalendar& spad_writes,
              PortCalendar& spad_reads, PortCalendar& acc_reads, PortCalendar& acc_writes);

  // When the next run begins, as far as known; kNever if nothing can begin yet.
  NPU_INLINE Cycle next_step() const {
    if (is_running_) return run_.next;
    Cycle start = std::max(arrival(0), free_);
    if (start < kNever) {
      const ExecuteOperation& head = operation(station_.pending(Queue::kExecute, 0));
      if (head.kind == ExecuteKind::kPreload) {
        start = std::max(start, arrival(1));
      } else if (head.kind == ExecuteKind::kConfig && !mesh_.has_pending()) {
        start = std::max(start, mesh_.last_result() + kConfigDrainStages);
      }
    }
    if (start > free_ && !is_weight_stationary_ && mesh_.has_pending()) return free_;
    return start;
  }
  void step(Cycle now);

  int64_t macs() const { return macs_; }
  // Cycles spent feeding rows, and those of them lost to ports that were taken.
  Cycle busy_cycles() const { return busy_cycles_; }
  Cycle conflict_cycles() const { return conflict_cycles_; }

 private:
  using Id = ReservationStation::Id;

  // A run under way.
  struct Run {
    Id compute;
    Id preload;
    BankMask banks;
    int64_t rows;
    int64_t reads_left;
    Cycle start;
    Cycle next;  // the first cycle that is not worked out yet
  };

  const ExecuteOperation& operation(Id id) const { return station_.operation(id).execute; }
  // When the command at `position` reaches the controller; kNever while that is not known.
  NPU_INLINE Cycle arrival(unsigned position) const {
    const Id id = station_.pending(Queue::kExecute, position);
    if (id == ReservationStation::kNone || station_.issued(id) == kNever) return kNever;
    return station_.issued(id) + kExecuteQueueStages;
  }
  // The command at `position` if it has reached the controller by `now`, else nullptr.
  NPU_INLINE const ExecuteOperation* visible(unsigned position, Cycle now) const {
    const Id id = station_.pending(Queue::kExecute, position);
    if (id == ReservationStation::kNone || station_.issued(id) + kExecuteQueueStages > now) {
      return nullptr;
    }
    return &operation(id);
  }
  // Whether the COMPUTE at the front runs with the PRELOAD after it.
  bool runs_together(Cycle now) const;
  // Whether a step at `now` has to push a result out before `head`, which is no COMPUTE, or
  // nothing (nullptr), can go on.
  bool must_flush(const ExecuteOperation* head, Cycle now) const;
  // When the results for the addresses that `operation` reads are out.
  NPU_INLINE Cycle operands_ready(const ExecuteOperation& operation) const {
    // Results go to the accumulator as a rule, operands come from the scratchpad.
    if (!rarely(operation.reads_elsewhere || mesh_.has_spad_results())) return -1;
    return look_for_results(operation);
  }
  NPU_RARE Cycle look_for_results(const ExecuteOperation& operation) const;

  // Whether `head`, a PRELOAD, begins to run now. What else may be at the front, which is no
  // COMPUTE or nothing (nullptr), is dealt with.
  NPU_RARE bool begins_alone(const ExecuteOperation* head, Cycle now);
  NPU_RARE void run_config(Cycle now);
  NPU_RARE void run_flush(Cycle now);
  Run begin_run(Cycle now, bool has_compute, bool has_preload);
  // When the array can take the rows of a PRELOAD that runs alone, from `start` on.
  NPU_RARE Cycle wait_for_operands(const ExecuteOperation& preload, Cycle start, Cycle now) const;
  // Goes on with `run`. Returns whether its last row is read.
  NPU_INLINE bool feed(Run& run, Cycle now);
  void end_run(const Run& run);
  // The second pass of weights that are transposed, after a first one in [start, end).
  NPU_RARE void run_second_pass(Cycle& start, Cycle& end);

  const Config& config_;
  ReservationStation& station_;
  PortCalendar& spad_writes_;
  PortCalendar& spad_reads_;
  Mesh mesh_;
  Cycle free_ = 0;

  Run run_{};  // under way, if one is
  bool is_running_ = false;

  bool is_weight_stationary_ = true;  // of the last run
  int64_t result_cols_ = 0;           // of the last PRELOAD
  int64_t macs_ = 0;
  Cycle busy_cycles_ = 0;
  Cycle conflict_cycles_ = 0;
};

}  // namespace npu::gemmini::timing
