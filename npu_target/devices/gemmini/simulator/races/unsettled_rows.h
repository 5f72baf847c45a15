// Rows of which nobody knows which load wrote them last.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gemmini/simulator/races/load_order.h"
#include "gemmini/simulator/races/race.h"
#include "gemmini/simulator/races/row_times.h"

namespace npu::gemmini::races {

// Policy: that two loads write the same rows in any order harms nobody who does not read them, and
// many a load brings rows that are not needed. So rows are remembered until something overwrites
// them that is ordered after both, and refused where they are read.
class UnsettledRows {
 public:
  struct Loads {
    Named first;
    Named second;
  };
  struct Found {
    int64_t row;
    Loads loads;
  };

  explicit UnsettledRows(int64_t rows) : rows_(rows), loads_of_row_(zeros(rows)) {}

  bool is_empty() const { return count_ == 0; }
  // The load leaves the rows that it writes settled or unsettled.
  void write(const LoadOrder& order, const Load& load);
  // Every `step`-th of the rows is overwritten by what waits for all loads of them.
  void settle(const Span& rows, int64_t step);
  // One that is unsettled of every `step`-th of the rows.
  std::optional<Found> find(const Span& rows, int64_t step) const;
  void forget() { *this = UnsettledRows(rows_); }

 private:
  void forget_old_loads();

  static constexpr size_t kFewLoads = 1024;
  int64_t rows_;
  Numbers loads_of_row_;  // 1 + where in loads_ those are that left it; 0 for a settled row
  int64_t count_ = 0;     // of unsettled rows
  std::vector<Loads> loads_;
  size_t most_loads_ = kFewLoads;
};

}  // namespace npu::gemmini::races
