#include "gemmini/simulator/timing/release_list.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "device_api/cpp/check.h"

namespace npu::gemmini::testing {
namespace {

using sim::testing::Test;

using timing::Cycle;
using timing::kNever;
using timing::ReleaseList;

const Test empty("timing/release_list: nothing is released of nothing", [] {
  ReleaseList list(4);
  CHECK_EQUAL(list.earliest(), kNever);
  CHECK_EQUAL(list.pop_before(kNever), 0u);
});

const Test before("timing/release_list: an entry goes the cycle after it completed", [] {
  ReleaseList list(2);
  list.push(false, 10, 3);
  list.push(true, 10, 63);
  CHECK_EQUAL(list.earliest(), 10);
  CHECK_EQUAL(list.pop_before(10), 0u);
  CHECK_EQUAL(list.pop_before(11), uint64_t{1} << 3 | uint64_t{1} << 63);
  CHECK_EQUAL(list.earliest(), kNever);
});

const Test any_order("timing/release_list: whatever order they come in, they go by time", [] {
  std::mt19937 random(1);
  for (const int entries : {1, 2, 3, 16, 64}) {
    ReleaseList list(entries);
    std::vector<std::pair<Cycle, int>> held;
    Cycle now = 0;
    for (int i = 0; i < 2000; ++i) {
      if (held.size() < static_cast<size_t>(entries)) {
        int entry = 0;
        const auto is_entry = [&](const auto& one) { return one.second == entry; };
        while (std::any_of(held.begin(), held.end(), is_entry)) ++entry;
        held.push_back({now + static_cast<Cycle>(random() % 50), entry});
        list.push(random() % 2 != 0, held.back().first, entry);
      }
      now += static_cast<Cycle>(random() % 12);
      uint64_t gone = 0;
      Cycle earliest = kNever;
      for (auto one = held.begin(); one != held.end();) {
        if (one->first < now) {
          gone |= uint64_t{1} << one->second;
          one = held.erase(one);
        } else {
          earliest = std::min(earliest, one->first);
          ++one;
        }
      }
      CHECK_EQUAL(list.pop_before(now), gone);
      CHECK_EQUAL(list.earliest(), earliest);
      CHECK_EQUAL(list.size(), held.size());
    }
  }
});

}  // namespace
}  // namespace npu::gemmini::testing
