// Which loads are sure to have completed when a queue issues its next command.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gemmini/simulator/races/bank_counts.h"
#include "gemmini/simulator/races/dram_rows.h"
#include "gemmini/simulator/races/queue_times.h"
#include "gemmini/simulator/races/race.h"
#include "gemmini/simulator/races/row_times.h"

namespace npu::gemmini::races {

// One MVIN.
struct Load {
  Named name;
  // What the reservation station compares: everything from the first row to the last.
  Span order;
  timing::RowParts parts;
  // What it writes: blocks of rows.
  Span first_block;
  int64_t blocks;
  int64_t block_stride_rows;
  bool accumulates;
  DramRows source;  // no rows: zeros
  // Of the accumulator: banks that get zeros, and banks whose addresses the write ports of the
  // others may take for those of zeros.
  BankMask zero_banks;
  BankMask data_banks;

  Span block(int64_t i) const {
    const int64_t offset = i * block_stride_rows;
    return {first_block.start + offset, first_block.end + offset};
  }
  bool writes(const Span& rows) const;
  // Whether the accumulator may write zeros of one where data of the other go: into another bank.
  bool mixes_with(const Load& other) const {
    return touch_two(zero_banks, other.data_banks) || touch_two(other.zero_banks, data_banks);
  }
};

// Policy: every queue issues in order, so it knows of a load's completion from some command of its
// own on: the first that waited for the load, or for a command of another queue that was issued
// knowing of it. What a queue learned, in order, is its log; to wait for a command of that queue is
// to read the log up to when that one was issued. A log is read once by each other queue.
class LoadOrder {
 public:
  explicit LoadOrder(int64_t rows);

  // Whether there may be loads of rows of `span` that `queue` does not know to have completed.
  bool may_be_unknown(Queue queue, const Span& span) const {
    const int32_t* const counts = counts_[index_of(queue)].get();
    const int64_t end = granules_end(span);
    for (int64_t granule = first_granule(span); granule < end; ++granule) {
      if (counts[granule] != 0) return true;
    }
    return false;
  }
  // The parts of all those loads.
  timing::RowParts unknown_parts(Queue queue) const;
  // The command that `queue` issues at `time` waits for every load that uses rows of `span`.
  void wait_for_loads(Queue queue, const Span& span, int32_t time) {
    if (!span.is_empty() && may_be_unknown(queue, span)) learn_loads(queue, span, time);
  }
  // It waits for a command of `other`, issued at `other_time`.
  void wait_for(Queue queue, Queue other, int32_t other_time, int32_t time) {
    int64_t& read = logs_[index_of(other)].read[index_of(queue)];
    if (read < logs_[index_of(other)].end && other_time > 0) {
      read_log(queue, other, other_time, time);
    }
  }

  // How many loads a queue has come to know of.
  int64_t known(Queue queue) const { return logs_[index_of(queue)].end; }

  // A load that the load queue does not know to have completed, and to whose rows it makes a
  // difference whether the next one comes before or after it; null when there is none. To sums it
  // makes none.
  const Load* unordered_with(const Load& next) const;
  // Whether that is so in a row that the next load overwrites, or adds to.
  bool is_unordered(int64_t row, bool accumulates) const {
    const auto at = static_cast<size_t>(row);
    return overwrites_[at] != 0 || (!accumulates && additions_[at] != 0);
  }
  // One that it does not know to have completed, and whose rows the accumulator mixes up with those
  // of the next; null when there is none.
  const Load* mixed_with(const Load& next) const;
  // Of those that `queue` does not know to have completed, one that writes rows of `span`, or that
  // reads bytes of `rows`; null when there is none.
  const Load* unknown_writer(Queue queue, const Span& span) const;
  const Load* unknown_reader(Queue queue, const DramRows& rows) const;

  // The load queue issues it at `time`.
  void add(const Load& load, int32_t time);
  // All loads have completed.
  void forget();

 private:
  using Slot = uint32_t;
  struct Entry {
    Load load;
    int32_t time;
    uint32_t generation = 0;                // of the slot
    uint32_t known_to = 0;                  // queues, a bit each
    std::array<uint32_t, kQueues> place{};  // in the list of those that a queue does not know of
  };
  // Beside each other, since they are gone through often.
  struct Unknown {
    Span order;
    timing::RowParts parts;
    Slot slot;
  };
  struct Learned {
    Slot slot;
    uint32_t generation;
    int32_t time;  // of the command that knew first
  };
  struct Log {
    std::vector<Learned> entries;
    int64_t begin = 0;  // entries before were read by all, and are gone
    int64_t end = 0;
    std::array<int64_t, kQueues> read{};  // by each other queue
  };
  static constexpr size_t index_of(Queue queue) { return static_cast<size_t>(queue); }
  static constexpr int64_t kManyRead = 256;  // entries of a log that are dropped at once
  static constexpr uint32_t kKnownToAll = (1u << kQueues) - 1;

  void learn_loads(Queue queue, const Span& span, int32_t time);
  void read_log(Queue queue, Queue other, int32_t until, int32_t time);
  void learn(Queue queue, Slot slot, int32_t time);
  void count(Queue queue, const Span& span, int32_t change);
  void count_writes(const Load& load, int32_t change);
  void count_banks(const Load& load, int32_t change);

  int64_t rows_;
  std::vector<Entry> entries_;
  std::vector<Slot> free_;
  std::array<std::vector<Unknown>, kQueues> unknown_;
  std::array<Log, kQueues> logs_;
  // Loads that a queue does not know of, by granule of the rows that they order.
  std::array<Numbers, kQueues> counts_;
  // Of those that the load queue does not know of, how many overwrite a row, and how many add to
  // it.
  Numbers overwrites_;
  Numbers additions_;
  // Of the same loads, how many of each bank.
  BankCounts zeros_;
  BankCounts data_;
};

}  // namespace npu::gemmini::races
