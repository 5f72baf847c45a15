// Stores whose reads the array has not waited for.
#pragma once

#include <cstdint>
#include <deque>

#include "gemmini/simulator/timing/row_range.h"

namespace npu::gemmini::races {

class UnwaitedStores {
 public:
  // One that is issued at `time`, later than all before.
  void add(int32_t time, timing::RowParts parts) { stores_.push_back({time, parts}); }

  // The parts that are read by stores after `time`; those before are forgotten.
  timing::RowParts parts_after(int32_t time) {
    while (!stores_.empty() && stores_.front().time <= time) stores_.pop_front();
    timing::RowParts parts = 0;
    for (const Store& store : stores_) parts |= store.parts;
    return parts;
  }
  void forget() { stores_.clear(); }

 private:
  struct Store {
    int32_t time;
    timing::RowParts parts;
  };
  std::deque<Store> stores_;
};

}  // namespace npu::gemmini::races
