// When the rows of both memories were used last, by commands in the order of their queue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace npu::gemmini::races {

// Rows [start, end) of both memories, the accumulator's behind the scratchpad's.
struct Span {
  int64_t start = 0;
  int64_t end = 0;

  bool is_empty() const { return start >= end; }
  bool overlaps(const Span& other) const { return start < other.end && other.start < end; }
};

// Zeros, of which those that nobody touches cost no memory.
template <typename Number>
using ZerosOf = std::unique_ptr<Number[], decltype(&std::free)>;
template <typename Number>
ZerosOf<Number> zeros_of(int64_t count) {
  auto* numbers = static_cast<Number*>(std::calloc(static_cast<size_t>(count), sizeof(Number)));
  if (numbers == nullptr) throw std::bad_alloc();
  return {numbers, &std::free};
}
using Numbers = ZerosOf<int32_t>;
inline Numbers zeros(int64_t count) { return zeros_of<int32_t>(count); }

// Rows come in granules, so that a long range costs little to ask for.
inline constexpr int kGranuleShift = 4;
inline constexpr int64_t kGranuleRows = int64_t{1} << kGranuleShift;
inline int64_t first_granule(const Span& span) { return span.start >> kGranuleShift; }
inline int64_t granules_end(const Span& span) { return ((span.end - 1) >> kGranuleShift) + 1; }

// The time of the latest use of each row. Times never decrease, and begin at 1.
//
// Policy: uses come far more often than questions, and most are of the very rows of one before. So
// a use is written down where it begins, a longer one in pieces: who asks for rows looks at what
// begins a little before them, too.
class RowTimes {
 public:
  explicit RowTimes(int64_t rows)
      : rows_(rows), uses_(zeros_of<Use>(rows)), latest_(zeros((rows >> kGranuleShift) + 1)) {}

  void use(const Span& span, int32_t time) {
    const int64_t rows = span.end - span.start;
    if (rows <= 0) return;
    if (rows > kMostRows || uses_[span.start].rows > rows) {
      use_pieces(span, time);
    } else {
      write(span.start, static_cast<int32_t>(rows), time);
    }
  }

  // The latest use of any of the rows if that is later than `known`, else `known`.
  int32_t latest(const Span& span, int32_t known) const {
    if (span.is_empty()) return known;
    const Span starts{std::max<int64_t>(0, span.start - kMostRows + 1), span.end};
    const int64_t end = granules_end(starts);
    for (int64_t granule = first_granule(starts); granule < end; ++granule) {
      if (latest_[granule] > known) known = latest_of_granule(span, starts, granule, known);
    }
    return known;
  }

  void forget() { *this = RowTimes(rows_); }

 private:
  // The latest that began at a row.
  struct Use {
    int32_t time;
    int32_t rows;
  };
  static constexpr int64_t kMostRows = kGranuleRows;

  void write(int64_t row, int32_t rows, int32_t time) {
    uses_[row] = {time, rows};
    latest_[row >> kGranuleShift] = time;
  }
  [[gnu::noinline]] void use_pieces(const Span& span, int32_t time) {
    for (int64_t row = span.start; row < span.end; row += kMostRows) {
      const auto rows = static_cast<int32_t>(std::min(span.end - row, kMostRows));
      if (uses_[row].rows > rows) keep_rest(row, rows);
      write(row, rows, time);
    }
  }
  // A use of fewer rows comes to be at `row`: of the one there, the rows behind those stay known.
  void keep_rest(int64_t row, int32_t rows) {
    Use rest = {uses_[row].time, uses_[row].rows - rows};
    row += rows;
    while (rest.rows > 0) {
      Use& other = uses_[row];
      if (other.time < rest.time) {
        std::swap(other, rest);
        int32_t& latest = latest_[row >> kGranuleShift];
        latest = std::max(latest, other.time);
      }
      row += other.rows;
      rest.rows -= other.rows;
    }
  }
  [[gnu::noinline]] int32_t latest_of_granule(const Span& span, const Span& starts, int64_t granule,
                                              int32_t known) const {
    const int64_t first = granule << kGranuleShift;
    const int64_t end = std::min(starts.end, first + kGranuleRows);
    for (int64_t row = std::max(starts.start, first); row < end; ++row) {
      if (uses_[row].time > known && row + uses_[row].rows > span.start) known = uses_[row].time;
    }
    return known;
  }

  int64_t rows_;
  ZerosOf<Use> uses_;
  Numbers latest_;  // of all uses that begin in a granule
};

}  // namespace npu::gemmini::races
