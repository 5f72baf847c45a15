#include "gemmini/simulator/timing/line_places.h"

namespace npu::gemmini::timing {

uint64_t LinePlaces::find_untagged(uint64_t line) const {
  const uint64_t first = set_of(line) * ways_;
  uint64_t found = kNowhere;
  for (uint64_t place = first; place < first + ways_; ++place) {
    found = lines_[place] == line ? place : found;
  }
  return found;
}

}  // namespace npu::gemmini::timing
