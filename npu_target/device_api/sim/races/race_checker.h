// Refuses streams whose result depends on an order that the hardware does not keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "array_results.h"
#include "config.h"
#include "dram_order.h"
#include "load_order.h"
#include "race.h"
#include "row_times.h"
#include "timing/operation.h"
#include "unsettled_rows.h"

namespace npu::sim::races {

// Takes commands as they enter the reservation station, and tells for each whether what it has in
// common with older ones is ordered. The rules, and what of the hardware they follow from, are in
// docs/simulator.md. The caller has checked the commands.
class RaceChecker {
 public:
  explicit RaceChecker(const Config& config);

  // The next command. Throws SimError race, naming it and the older one.
  void enter(Queue queue, const timing::Operation& operation, const Command& command,
             int64_t index) {
    if (operation.is_config) {
      if (queue == Queue::kExecute) results_.clear();  // the array runs empty for it
      return;
    }
    // In numbers that are used up, what came before counts as complete.
    if (time(queue) == INT32_MAX - 1) fence();
    const Named now{command, index};
    if (queue == Queue::kExecute) {
      execute(operation, now);
    } else if (queue == Queue::kLoad) {
      ++times_[static_cast<size_t>(queue)];
      load(operation, now);
    } else {
      ++times_[static_cast<size_t>(queue)];
      store(operation, now);
    }
  }

  // All that has entered is complete.
  void fence();

 private:
  // Rows that a command reads and the reservation station does not see.
  struct Exposed {
    Named reader;
    Span rows;
    Queue queue;
    int32_t time;
  };

  // Every `step`-th of the rows is read.
  void read_rows(const Span& rows, int64_t step, const Named& now) const;
  template <typename Visit>
  void for_each_read(const timing::StoreOperation& store, Visit visit) const;

  void execute(const timing::Operation& operation, const Named& now);
  Span exposed_operand(const timing::Operation& operation, const Span& order) const;
  void preload(const timing::Operation& operation, const Named& now, const Span& result);
  void run_array(const timing::Operation& compute, const Named& now);
  void load(const timing::Operation& operation, const Named& now);
  Load load_of(const timing::Operation& operation, const Named& now) const;
  void store(const timing::Operation& operation, const Named& now);

  // The command that `queue` issues next waits for one of `other`.
  void wait_for(Queue queue, Queue other, int32_t other_time);
  void check_result_under_way(const Span& rows, const Named& now) const;
  void check_loads(Queue queue, const Span& rows, const Named& now) const;
  void expose(Queue queue, const Span& rows, const Named& now);
  void check_exposed(Queue queue, const Span& rows, const Named& now) const;

  int32_t time(Queue queue) const { return times_[static_cast<size_t>(queue)]; }
  int32_t& waited_for(Queue queue, Queue other) {
    return waited_for_[static_cast<size_t>(queue)][static_cast<size_t>(other)];
  }
  int32_t waited_for(Queue queue, Queue other) const {
    return waited_for_[static_cast<size_t>(queue)][static_cast<size_t>(other)];
  }
  // Rows of a range as rows of both memories; what lies beyond a memory's end is left out.
  Span span(const timing::RowRange& range) const;
  int64_t pooled_order_end(int64_t start) const;
  std::string text(const Span& rows) const;

  static constexpr size_t kFewExposed = 64;

  const int64_t spad_rows_;
  const int64_t acc_rows_;
  const int64_t acc_bank_rows_;
  const int64_t dim_;
  // Of each queue, when its latest command was issued: in commands; for the array, in commands that
  // knew of more loads than the one before, as long as no finer order is asked for.
  int32_t times_[timing::kQueues] = {};
  bool needs_every_time_ = false;
  int32_t array_commands_ = 0;
  // The latest command of another queue that one of a queue waited for.
  int32_t waited_for_[timing::kQueues][timing::kQueues] = {};
  LoadOrder loads_;
  RowTimes array_reads_;
  RowTimes array_writes_;
  RowTimes store_reads_;
  MemoryOrder memory_;
  UnsettledRows unsettled_;

  // Of the PRELOAD whose COMPUTE has not come.
  std::optional<ArrayResult> result_;
  ArrayResults::Operand preload_operand_;
  ArrayResults results_;
  std::vector<Exposed> exposed_;
  size_t most_exposed_ = kFewExposed;
  bool has_exposed_loads_ = false;
};

}  // namespace npu::sim::races
