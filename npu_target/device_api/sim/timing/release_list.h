// When the entries of a partition become free.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cycle.h"

namespace npu::sim::timing {

// Entries that complete at a known time, the earliest first.
//
// COMPUTEs complete in order, and so do, much later, the PRELOADs before them: kept in two rows,
// each entry goes to the end of one of them as a rule.
class ReleaseList {
 public:
  static constexpr unsigned kMaxEntries = 64;

  explicit ReleaseList(int64_t entries) {
    // Behind the last there is always one more, which never completes.
    while (wrap_ < entries) wrap_ = 2 * wrap_ + 1;
  }

  // When the first of them completes; kNever if there are none.
  Cycle earliest() const { return earliest_; }

  void push(Cycle completed, int entry) {
    earliest_ = std::min(earliest_, completed);
    Row& row = rows_[rows_[0].latest <= completed ? 0 : 1];
    unsigned place = row.tail;
    row.tail = (place + 1) & wrap_;
    row.ring[row.tail].completed = kNever;
    if (row.latest <= completed) {
      row.latest = completed;
    } else {
      place = make_place(row, place, completed);
    }
    row.ring[place] = {completed, entry};
  }

  // Takes out those that have completed before `now`; returns them, a bit each.
  uint64_t pop_before(Cycle now) {
    uint64_t gone = 0;
    while (earliest_ < now) {
      Row& row = rows_[rows_[0].first() == earliest_ ? 0 : 1];
      gone |= uint64_t{1} << row.ring[row.head].entry;
      row.head = (row.head + 1) & wrap_;
      earliest_ = std::min(rows_[0].first(), rows_[1].first());
    }
    return gone;
  }

 private:
  struct Release {
    Cycle completed = kNever;
    int entry = 0;
  };
  struct Row {
    unsigned head = 0;
    unsigned tail = 0;
    Cycle latest = kLongAgo;
    std::array<Release, 2 * kMaxEntries> ring{};
    Cycle first() const { return ring[head].completed; }
  };

  // Moves what completes later than `completed` a place on; returns the place that is free then.
  unsigned make_place(Row& row, unsigned place, Cycle completed) const;

  unsigned wrap_ = 1;
  Cycle earliest_ = kNever;
  std::array<Row, 2> rows_;
};

}  // namespace npu::sim::timing
