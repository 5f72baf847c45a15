// Rows of the two memories, and whether some overlap with others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/inline.h"

namespace npu::gemmini::timing {

// Rows [start, end) of the scratchpad or, from kAccBase on, of the accumulator. By default no
// rows at all, which overlap with nothing.
struct RowRange {
  static constexpr int64_t kAccBase = int64_t{1} << 32;

  int64_t start = std::numeric_limits<int64_t>::max();
  int64_t end = std::numeric_limits<int64_t>::min();

  // The hardware's comparison (ReservationStation.scala, OpT.overlaps).
  bool overlaps(const RowRange& other) const {
    return (other.start <= start && start < other.end) ||
           (start <= other.start && other.start < end);
  }
};

// Rows of both memories in 64 parts, a bit each: what overlaps has a part in common.
using RowParts = uint64_t;

class RowPartition {
 public:
  explicit RowPartition(const Config& config)
      : shifts_{shift_to_parts(config.spad_rows()), shift_to_parts(config.acc_rows())} {}

  // Where the rows of `range`, which has a start, are; of an accumulator or not.
  NPU_INLINE RowParts parts_of(const RowRange& range, bool is_acc) const {
    const int shift = shifts_[is_acc];
    // A range of no rows overlaps with those that its start is in.
    const int64_t first = range.start >> shift;
    const int64_t count = (std::max(range.end - 1, range.start) >> shift) - first;
    if (count >= kParts - 1) return ~RowParts{0};
    const RowParts parts = (RowParts{2} << count) - 1;
    // The memories take turns in the same parts; rows far apart may share one too.
    const unsigned rotation = static_cast<unsigned>(first) % kParts;
    return parts << rotation | parts >> ((kParts - rotation) % kParts);
  }

 private:
  static constexpr int kParts = 64;

  // The least shift that makes `rows` rows to at most kParts parts.
  static int shift_to_parts(int64_t rows) {
    int shift = 0;
    while (((rows - 1) >> shift) >= kParts) ++shift;
    return shift;
  }

  int shifts_[2];  // from rows to parts
};

}  // namespace npu::gemmini::timing
