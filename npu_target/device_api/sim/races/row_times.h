// When the rows of both memories were used last, by commands in the order of their queue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace npu::sim::races {

// Rows [start, end) of both memories, the accumulator's behind the scratchpad's.
struct Span {
  int64_t start = 0;
  int64_t end = 0;

  bool is_empty() const { return start >= end; }
  bool overlaps(const Span& other) const { return start < other.end && other.start < end; }
};

// Zeros, of which those that nobody touches cost no memory.
using Numbers = std::unique_ptr<int32_t[], decltype(&std::free)>;
inline Numbers zeros(int64_t count) {
  auto* numbers = static_cast<int32_t*>(std::calloc(static_cast<size_t>(count), sizeof(int32_t)));
  if (numbers == nullptr) throw std::bad_alloc();
  return {numbers, &std::free};
}

// Rows come in granules, so that a long range costs little to ask for.
inline constexpr int kGranuleShift = 4;
inline constexpr int64_t kGranuleRows = int64_t{1} << kGranuleShift;
inline int64_t first_granule(const Span& span) { return span.start >> kGranuleShift; }
inline int64_t granules_end(const Span& span) { return ((span.end - 1) >> kGranuleShift) + 1; }

// The time of the latest use of each row. Times never decrease, and begin at 1.
//
// Policy: a granule has the rows of its latest time in a mask, as they are mostly used again before
// the time changes; only then is that time written down for each of them.
class RowTimes {
 public:
  explicit RowTimes(int64_t rows)
      : rows_(rows),
        before_(zeros(rows + kGranuleRows)),
        latest_(zeros((rows >> kGranuleShift) + 1)),
        masks_(zeros((rows >> kGranuleShift) + 1)) {}

  void use(const Span& span, int32_t time) {
    if (span.is_empty()) return;
    const int64_t last = granules_end(span) - 1;
    for (int64_t granule = first_granule(span); granule <= last; ++granule) {
      const auto at = static_cast<size_t>(granule);
      if (__builtin_expect(latest_[at] != time, false)) begin(granule, time);
      masks_[at] |= mask(span, granule);
    }
  }

  // The latest use of any of the rows, 0 for none.
  int32_t latest(const Span& span) const {
    int32_t latest = 0;
    if (span.is_empty()) return latest;
    const int64_t end = granules_end(span);
    for (int64_t granule = first_granule(span); granule < end; ++granule) {
      const auto at = static_cast<size_t>(granule);
      if (latest_[at] <= latest) continue;
      latest = (masks_[at] & mask(span, granule)) != 0 ? latest_[at]
                                                       : latest_before(span, granule, latest);
    }
    return latest;
  }

  void forget() { *this = RowTimes(rows_); }

 private:
  // The rows of the span that a granule has, a bit each.
  static int32_t mask(const Span& span, int64_t granule) {
    const int64_t first = granule << kGranuleShift;
    const int64_t from = std::max(span.start - first, int64_t{0});
    const int64_t to = std::min(span.end - first, kGranuleRows);
    return (int32_t{1} << to) - (int32_t{1} << from);
  }
  [[gnu::noinline]] void begin(int64_t granule, int32_t time) {
    int32_t* before = &before_[static_cast<size_t>(granule << kGranuleShift)];
    const int32_t was = latest_[static_cast<size_t>(granule)];
    const int32_t mask = masks_[static_cast<size_t>(granule)];
    for (int row = 0; row < kGranuleRows; ++row) {
      before[row] = (mask & 1 << row) != 0 ? was : before[row];
    }
    latest_[static_cast<size_t>(granule)] = time;
    masks_[static_cast<size_t>(granule)] = 0;
  }
  [[gnu::noinline]] int32_t latest_before(const Span& span, int64_t granule, int32_t latest) const {
    const int64_t first = granule << kGranuleShift;
    const int64_t end = std::min(span.end, first + kGranuleRows);
    for (int64_t row = std::max(span.start, first); row < end; ++row) {
      latest = std::max(latest, before_[static_cast<size_t>(row)]);
    }
    return latest;
  }

  int64_t rows_;
  Numbers before_;  // by row, but for the rows of the masks
  Numbers latest_;  // by granule
  Numbers masks_;
};

}  // namespace npu::sim::races
