#include "gemmini/simulator/timing/release_list.h"

namespace npu::gemmini::timing {

unsigned ReleaseList::make_place(Row& row, unsigned place, Cycle completed) const {
  while (place != row.head) {
    const unsigned before = (place - 1) & wrap_;
    if (row.ring[before].completed <= completed) break;
    row.ring[place] = row.ring[before];
    place = before;
  }
  return place;
}

}  // namespace npu::gemmini::timing
