// Refuses streams whose result depends on an order that the hardware does not keep.
#pragma once

#include <cstdint>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/races/array_results.h"
#include "gemmini/simulator/races/consecutive_sums.h"
#include "gemmini/simulator/races/dram_order.h"
#include "gemmini/simulator/races/exposed_rows.h"
#include "gemmini/simulator/races/load_order.h"
#include "gemmini/simulator/races/loop_order.h"
#include "gemmini/simulator/races/memory_rows.h"
#include "gemmini/simulator/races/queue_times.h"
#include "gemmini/simulator/races/race.h"
#include "gemmini/simulator/races/row_times.h"
#include "gemmini/simulator/races/unsettled_rows.h"
#include "gemmini/simulator/races/unwaited_stores.h"
#include "gemmini/simulator/timing/operation.h"

namespace npu::gemmini::races {

// Takes commands as they enter the reservation station, and tells for each whether what it has in
// common with older ones is ordered. The rules, and what of the hardware they follow from, are in
// docs/simulator.md. The caller has checked the commands.
//
// Policy: nine commands of ten are the array's, and most of them have no rows that a load or a
// store uses that it does not know of: what is left of those is to note when rows were used.
class RaceChecker {
 public:
  explicit RaceChecker(const Config& config);

  // The next command. Throws SimError race, naming it and the older one.
  void enter(Queue queue, const timing::Operation& operation, const Command& command,
             int64_t index) {
    if (operation.is_config) {
      if (queue == Queue::kExecute) {  // the array runs empty for it
        results_.clear();
        sums_.clear();
      }
      return;
    }
    if (queue == Queue::kExecute) {
      execute(operation, command, index);
    } else if (queue == Queue::kLoad) {
      load(operation, {command, index});
    } else {
      store(operation, {command, index});
    }
  }

  // A command that the unrollers take, and the loop if it starts one. What comes of it enters.
  void take_loop(const Named& now, const loops::Loop* loop) { loop_order_.take(now, loop); }

  // All that has entered is complete.
  void fence();

 private:
  // Every `step`-th of the rows is read.
  void read_rows(const Span& rows, int64_t step, const Named& now) const;
  template <typename Visit>
  void for_each_read(const timing::StoreOperation& store, Visit visit) const;

  // To the time of the next command of `queue`.
  void advance(Queue queue);
  [[gnu::noinline]] void execute(const timing::Operation& operation, const Command& command,
                                 int64_t index);
  void preload(const timing::Operation& operation, const Command& command, int64_t index);
  void compute(const timing::Operation& operation, const Command& command, int64_t index);
  // Whether it may have to wait for a load or a store, or to be compared with one.
  bool is_concerned(const timing::Operation& operation) const {
    return (operation.parts & unsure_parts_) != 0 || needs_every_time_ ||
           operation.execute.mode.is_b_transposed;
  }
  [[gnu::noinline]] void check_array(const timing::Operation& operation, const Command& command,
                                     int64_t index);
  Span exposed_operand(const timing::Operation& operation, const Span& order) const;
  // The rows of the second operand that the array reads, of which the station orders these.
  Span read_by(const timing::Operation& operation, const Span& order) const;
  // Whether there are loads, or stores whose rows it overwrites, that it does not know of.
  bool may_learn(bool overwrites, const Span& first, const Span& second) const {
    return loads_.may_be_unknown(Queue::kExecute, first) ||
           loads_.may_be_unknown(Queue::kExecute, second) ||
           (overwrites && is_later(store_reads_, first, Queue::kExecute, Queue::kStore));
  }
  void learn(bool overwrites, const Span& first, const Span& second);
  void find_unsure_parts();
  [[noreturn]] void fail_dropped(const timing::Operation& preload, const Named& now) const;
  [[gnu::noinline]] void check_own_results(const timing::Operation& compute, const Named& now);
  void load(const timing::Operation& operation, const Named& now);
  Load load_of(const timing::Operation& operation, const Named& now) const;
  [[noreturn]] void fail_mixed(const Load& load, const Load& older) const;
  void store(const timing::Operation& operation, const Named& now);

  // The command that `queue` issues next waits for those of `other` up to that time.
  void wait_for(Queue queue, Queue other, int32_t other_time);
  bool is_later(const RowTimes& uses, const Span& rows, Queue queue, Queue other) const;
  void check_result_under_way(const Span& rows, const Named& now) const;
  void check_loads(Queue queue, const Span& rows, const Named& now) const;
  void expose(Queue queue, const Span& rows, const Named& now);
  void check_exposed(Queue queue, const Span& rows, const Named& now) const;

  static constexpr timing::RowParts kAllParts = ~timing::RowParts{0};

  const MemoryRows rows_;
  const int64_t dim_;
  QueueTimes times_;
  // Of the array. What it reads, or is compared with, without being seen, needs it.
  bool needs_every_time_ = false;
  bool begins_time_ = true;  // the array's next command, learning or not
  int32_t array_commands_ = 0;
  LoadOrder loads_;
  RowTimes array_reads_;
  RowTimes array_writes_;
  RowTimes store_reads_;
  UnwaitedStores stores_;
  // Of stores and loads that the array does not know of; all parts where each of its commands has
  // to be looked at.
  timing::RowParts unsure_parts_ = kAllParts;
  MemoryOrder memory_;
  UnsettledRows unsettled_;

  // Of the PRELOAD whose COMPUTE has not come.
  bool has_result_ = false;
  ArrayResult result_;  // if it has one
  Span preload_rows_;   // as the station orders them
  ArrayResults::Operand preload_operand_;
  ArrayResults results_;
  ConsecutiveSums sums_;
  LoopOrder loop_order_;
  ExposedRows exposed_;
  bool has_exposed_loads_ = false;
};

}  // namespace npu::gemmini::races
