// When the rows of both memories were used last, by commands in the order of their queue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace npu::gemmini::races {

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
class RowTimes {
 public:
  explicit RowTimes(int64_t rows)
      : rows_(rows), times_(zeros(rows)), latest_(zeros((rows >> kGranuleShift) + 1)) {}

  void use(const Span& span, int32_t time) {
    if (span.is_empty()) return;
    fill(times_.get() + span.start, span.end - span.start, time);
    const int64_t first = first_granule(span);
    const int64_t last = granules_end(span) - 1;
    latest_[first] = latest_[last] = time;
    for (int64_t granule = first + 1; granule < last; ++granule) latest_[granule] = time;
  }

  // The latest use of any of the rows if that is later than `known`, else `known`.
  int32_t latest(const Span& span, int32_t known) const {
    if (span.is_empty()) return known;
    const int64_t end = granules_end(span);
    for (int64_t granule = first_granule(span); granule < end; ++granule) {
      if (latest_[granule] > known) known = latest_of_rows(span, granule, known);
    }
    return known;
  }

  void forget() { *this = RowTimes(rows_); }

 private:
  // Four at a time, the last four over those before: mostly it is as many as the array has rows.
  static void fill(int32_t* numbers, int64_t count, int32_t value) {
    const int32_t four[] = {value, value, value, value};
    if (count < 4) {
      for (int64_t i = 0; i < count; ++i) numbers[i] = value;
      return;
    }
    for (int64_t i = 0; i < count - 4; i += 4) std::memcpy(numbers + i, four, sizeof(four));
    std::memcpy(numbers + count - 4, four, sizeof(four));
  }
  [[gnu::noinline]] int32_t latest_of_rows(const Span& span, int64_t granule, int32_t known) const {
    const int64_t first = granule << kGranuleShift;
    const int64_t end = std::min(span.end, first + kGranuleRows);
    for (int64_t row = std::max(span.start, first); row < end; ++row) {
      known = std::max(known, times_[row]);
    }
    return known;
  }

  int64_t rows_;
  Numbers times_;
  Numbers latest_;  // of any of a granule's rows
};

}  // namespace npu::gemmini::races
