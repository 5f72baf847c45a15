// Which cycles of an SRAM's port are taken.
#pragma once

#include <algorithm>
#include <vector>

#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/inline.h"

namespace npu::gemmini::timing {

// One bit per bank.
using BankMask = uint64_t;

// Spans of cycles in which some banks' ports are taken by requesters that come first.
//
// Policy: requesters of higher priority write down what they take; those of lower priority ask
// for the cycles left over. That is exact as long as a span is written down before anybody asks
// about its cycles, which holds because data move through the pipelines of stages.h between the
// decision and the port. Source: ScratchpadBank (a write wins over a read, single-ported),
// Scratchpad (an execute read wins over a store's read, the array's results over a load's data for
// the accumulator), AccumulatorMem (an accumulating write takes the read port too).
//
// Spans are kept in order of time; those that ended before `expire` are forgotten.
class PortCalendar {
 public:
  // Room for `capacity` spans; beyond it the oldest are forgotten first.
  explicit PortCalendar(int64_t capacity);
  PortCalendar(const PortCalendar&) = delete;
  PortCalendar& operator=(const PortCalendar&) = delete;

  // The banks of `mask` are taken in cycles [start, end).
  NPU_INLINE void take(BankMask mask, Cycle start, Cycle end) {
    if (start >= end || mask == 0) return;
    latest_end_ = std::max(latest_end_, end);
    if (last_->end == start && last_->mask == mask && tail_ > head_) {
      last_->end = end;
      return;
    }
    if (tail_ - head_ > wrap_) ++head_;
    if (last_->start > start && tail_ > head_) {
      insert(mask, start, end);
      return;
    }
    last_ = &at(tail_++);
    last_->mask = mask;
    last_->start = start;
    last_->end = end;
  }

  // The first cycle at or after `from` in which no bank of `mask` is taken.
  Cycle first_free(BankMask mask, Cycle from) const {
    return latest_end_ <= from ? from : look_for_free(mask, from);
  }

  // The cycle after the last of `count` free cycles, the first of them at or after `from`; not
  // beyond `until`. And how many are left then. (Both come back in registers.)
  struct Used {
    Cycle end;
    int64_t left;
  };
  NPU_INLINE Used after_free(BankMask mask, Cycle from, Cycle until, int64_t count) const {
    if (latest_end_ > from) return look_after_free(mask, from, until, count);
    const Cycle used = std::min(count, std::max<Cycle>(until - from, 0));
    return {from + used, count - used};
  }

  // Nobody will ask about cycles before `now` again.
  NPU_INLINE void expire(Cycle now) {
    while (head_ < tail_ && at(head_).end <= now) ++head_;
  }

 private:
  struct alignas(32) Span {
    BankMask mask;
    Cycle start;
    Cycle end;
  };
  const Span& at(uint64_t position) const { return spans_[position & wrap_]; }
  Span& at(uint64_t position) { return spans_[position & wrap_]; }
  NPU_RARE void insert(BankMask mask, Cycle start, Cycle end);
  NPU_RARE Cycle look_for_free(BankMask mask, Cycle from) const;
  NPU_RARE Used look_after_free(BankMask mask, Cycle from, Cycle until, int64_t count) const;

  std::vector<Span> spans_;  // a ring
  Span* last_;               // the latest of them
  uint64_t wrap_;
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
  Cycle latest_end_ = kLongAgo;  // of all that was ever taken
};

}  // namespace npu::gemmini::timing
