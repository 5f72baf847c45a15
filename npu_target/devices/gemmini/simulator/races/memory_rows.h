// Rows of both memories, as the reservation station and the memories themselves see them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/races/bank_counts.h"
#include "gemmini/simulator/races/row_times.h"
#include "gemmini/simulator/timing/row_range.h"

namespace npu::gemmini::races {

class MemoryRows {
 public:
  explicit MemoryRows(const Config& config)
      : spad_rows_(config.spad_rows()),
        acc_rows_(config.acc_rows()),
        acc_bank_rows_(config.acc_bank_rows),
        memories_{{0, spad_rows_},
                  {spad_rows_ - timing::RowRange::kAccBase, spad_rows_ + acc_rows_}} {}

  int64_t count() const { return spad_rows_ + acc_rows_; }
  int64_t begin(bool is_acc) const { return is_acc ? spad_rows_ : 0; }
  int64_t end(bool is_acc) const { return memories_[is_acc].end; }
  bool is_acc(int64_t row) const { return row >= spad_rows_; }

  // What lies beyond a memory's end is left out.
  Span span(const timing::RowRange& range) const {
    if (range.start == timing::RowRange{}.start) return {};  // garbage
    const Memory& memory = memories_[range.start >= timing::RowRange::kAccBase];
    const int64_t start = range.start + memory.offset;
    // A range of no rows overlaps with those that its start is in.
    return {std::min(start, memory.end),
            std::min(std::max(range.end + memory.offset, start + 1), memory.end)};
  }

  // Of rows of the accumulator.
  BankMask acc_banks(const Span& rows) const;
  // Where the rows end that a pooling MVOUT from `start` on is compared with.
  int64_t pooled_order_end(int64_t start) const;

  // For instance "rows 3 to 5 of the accumulator".
  std::string text(const Span& rows) const;

 private:
  const int64_t spad_rows_;
  const int64_t acc_rows_;
  const int64_t acc_bank_rows_;
  struct Memory {
    int64_t offset;  // from rows of ranges
    int64_t end;
  };
  const Memory memories_[2];
};

}  // namespace npu::gemmini::races
