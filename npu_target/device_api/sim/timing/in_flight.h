// How many of something may be under way.
#pragma once

#include <vector>

#include "cycle.h"

namespace npu::sim::timing {

// Times at which the last `size` requests were done: request i may start once i - size is done.
class InFlight {
 public:
  explicit InFlight(int64_t size) : done_(static_cast<size_t>(size), -1), last_(done_.size() - 1) {}
  // The first cycle the next request may start in.
  Cycle earliest() const { return earliest_; }
  void push(Cycle done) {
    done_[next_] = done;
    next_ = next_ == last_ ? 0 : next_ + 1;
    earliest_ = done_[next_] + 1;
  }

 private:
  std::vector<Cycle> done_;  // a ring
  const size_t last_;
  size_t next_ = 0;
  Cycle earliest_ = 0;
};

}  // namespace npu::sim::timing
