// When the entries of a partition become free.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/inline.h"

namespace npu::gemmini::timing {

// Entries that complete at a known time, the earliest first.
//
// They come in two rows. COMPUTEs complete in order, and so do, much later, the PRELOADs before
// them: where commands of a kind have a row of their own, each goes to its end as a rule.
class ReleaseList {
 public:
  static constexpr unsigned kMaxEntries = 64;

  explicit ReleaseList(int64_t entries) {
    // Behind the last there is always one more, which never completes.
    while (wrap_ < entries) wrap_ = 2 * wrap_ + 1;
  }

  // When the first of them completes; kNever if there are none.
  Cycle earliest() const { return earliest_; }
  // When the last of all that ever came completes.
  Cycle latest() const { return std::max(rows_[0].latest, rows_[1].latest); }
  unsigned size() const {
    return ((rows_[0].tail - rows_[0].head) & wrap_) + ((rows_[1].tail - rows_[1].head) & wrap_);
  }

  NPU_INLINE void push(bool to_second_row, Cycle completed, int entry) {
    Row& row = rows_[to_second_row];
    unsigned place = row.tail;
    row.tail = (place + 1) & wrap_;
    row.ring[row.tail].completed = kNever;
    if (rarely(completed < row.latest)) {
      place = make_place(row, place, completed);
    } else {
      row.latest = completed;
    }
    row.ring[place] = {completed, uint64_t{1} << entry};
    if (rarely(place == row.head)) row.first = completed;
    earliest_ = std::min(earliest_, completed);
  }

  // Takes out those that have completed before `now`; returns them, a bit each.
  NPU_INLINE uint64_t pop_before(Cycle now) {
    uint64_t gone = 0;
    while (earliest_ < now) {
      gone |= rows_[0].first == earliest_ ? pop(rows_[0]) : pop(rows_[1]);
      earliest_ = std::min(rows_[0].first, rows_[1].first);
    }
    return gone;
  }

 private:
  struct Release {
    Cycle completed = kNever;
    uint64_t entry = 0;  // its bit
  };
  struct Row {
    Cycle first = kNever;
    Cycle latest = kLongAgo;
    unsigned head = 0;
    unsigned tail = 0;
    std::array<Release, 2 * kMaxEntries> ring{};
  };

  NPU_INLINE uint64_t pop(Row& row) const {
    const uint64_t entry = row.ring[row.head].entry;
    row.head = (row.head + 1) & wrap_;
    row.first = row.ring[row.head].completed;
    return entry;
  }
  // Moves what completes later than `completed` a place on; returns the place that is free then.
  NPU_RARE unsigned make_place(Row& row, unsigned place, Cycle completed) const;

  unsigned wrap_ = 1;
  Cycle earliest_ = kNever;
  std::array<Row, 2> rows_;
};

}  // namespace npu::gemmini::timing
