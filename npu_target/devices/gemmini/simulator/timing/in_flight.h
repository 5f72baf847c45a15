// How many of something may be under way.
#pragma once

#include <cstddef>
#include <vector>

#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/inline.h"

namespace npu::gemmini::timing {

// Times at which the last `size` requests were done: another may start once one of them is, or, if
// their places are given up in the order in which they were taken, once the oldest is.
class InFlight {
 public:
  explicit InFlight(int64_t size)
      : done_(static_cast<size_t>(size), -1), last_(&done_.back()), next_(done_.data()) {}
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  // The first cycle the next request may start in.
  Cycle earliest() const { return earliest_; }
  // A request takes the place that is free by then, and keeps it until `done`.
  void push(Cycle done) {
    *next_ = done;
    advance();
  }
  // The same where any place that is free will do: one for all requests, or push() for all.
  void push_in_any_order(Cycle done) {
    Cycle* place = next_;
    // Most are done in order.
    if (rarely(done < latest_)) {
      place = make_place(place, done);
    } else {
      latest_ = done;
    }
    *place = done;
    advance();
  }

 private:
  // One that is done earlier goes before those that are later. Returns its place.
  NPU_RARE Cycle* make_place(Cycle* place, Cycle done) {
    for (Cycle* before = previous(place); *before > done && before != next_;
         before = previous(place)) {
      *place = *before;
      place = before;
    }
    return place;
  }
  Cycle* previous(Cycle* place) { return place == done_.data() ? last_ : place - 1; }
  void advance() {
    next_ = next_ == last_ ? done_.data() : next_ + 1;
    earliest_ = *next_ + 1;
  }

  std::vector<Cycle> done_;  // a ring
  Cycle* const last_;
  Cycle* next_;
  Cycle earliest_ = 0;
  Cycle latest_ = -1;
};

// The same for requests of which nobody knows at first when they are done, and which give up their
// places in any order.
class OpenInFlight {
 public:
  explicit OpenInFlight(int64_t size) : free_(static_cast<size_t>(size), -1) {}
  // The first cycle the next request may start in; kNever if that is not known yet.
  Cycle earliest() const { return free_.empty() ? kNever : free_.front() + 1; }
  // A request takes the place that is free first, and gives it back when it is known to be done.
  void take() { free_.erase(free_.begin()); }
  void give_back(Cycle done) {
    auto place = free_.end();
    while (place != free_.begin() && *(place - 1) > done) --place;
    free_.insert(place, done);
  }

 private:
  std::vector<Cycle> free_;  // since when, the first in front; few
};

}  // namespace npu::gemmini::timing
