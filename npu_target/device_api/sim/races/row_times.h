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

// The time of the latest use of each row. Times only increase, from 1 on.
class RowTimes {
 public:
  explicit RowTimes(int64_t rows)
      : rows_(rows), of_row_(zeros(rows)), of_granule_(zeros((rows >> kGranuleShift) + 1)) {}

  void use(const Span& span, int32_t time) {
    if (span.is_empty()) return;
    std::fill(&of_row_[span.start], &of_row_[span.end], time);
    std::fill(&of_granule_[first_granule(span)], &of_granule_[granules_end(span)], time);
  }

  // The latest use of any of the rows, 0 for none.
  int32_t latest(const Span& span) const {
    if (span.is_empty()) return 0;
    const int64_t first_whole = (span.start + kGranuleRows - 1) >> kGranuleShift;
    const int64_t whole_end = span.end >> kGranuleShift;
    if (first_whole >= whole_end) return latest(of_row_.get(), span.start, span.end);
    return std::max({latest(of_row_.get(), span.start, first_whole << kGranuleShift),
                     latest(of_granule_.get(), first_whole, whole_end),
                     latest(of_row_.get(), whole_end << kGranuleShift, span.end)});
  }

  void forget() {
    of_row_ = zeros(rows_);
    of_granule_ = zeros((rows_ >> kGranuleShift) + 1);
  }

 private:
  static int32_t latest(const int32_t* times, int64_t from, int64_t to) {
    int32_t latest = 0;
    for (int64_t i = from; i < to; ++i) latest = std::max(latest, times[i]);
    return latest;
  }

  int64_t rows_;
  Numbers of_row_;
  Numbers of_granule_;
};

}  // namespace npu::sim::races
