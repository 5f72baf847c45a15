// What is done to loops, by their ids, whether it pays by itself or not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "rewrite/unroller.h"

namespace npu::rewrite {

struct Change {
  std::vector<uint32_t> cut;  // those that are cut where a condition in them is decided; in order
  Joined joined;              // how many iterations of a loop become one

  Change cutting(uint32_t loop_id) const {
    Change change = *this;
    const auto at = std::lower_bound(change.cut.begin(), change.cut.end(), loop_id);
    if (at == change.cut.end() || *at != loop_id) change.cut.insert(at, loop_id);
    return change;
  }

  Change joining(uint32_t loop_id, int64_t iterations) const {
    Change change{cut, {}};
    for (const auto& one : joined) {
      if (one.first != loop_id) change.joined.push_back(one);
    }
    change.joined.emplace_back(loop_id, iterations);
    std::sort(change.joined.begin(), change.joined.end());
    return change;
  }

  // What of it is about these loops, given in order.
  Change of(const std::vector<uint32_t>& loop_ids) const {
    const auto is_one = [&](uint32_t loop_id) {
      return std::binary_search(loop_ids.begin(), loop_ids.end(), loop_id);
    };
    Change change;
    std::copy_if(cut.begin(), cut.end(), std::back_inserter(change.cut), is_one);
    std::copy_if(joined.begin(), joined.end(), std::back_inserter(change.joined),
                 [&](const auto& one) { return is_one(one.first); });
    return change;
  }

  // Those that it is about.
  std::vector<uint32_t> loop_ids() const {
    std::vector<uint32_t> ids = cut;
    for (const auto& one : joined) ids.push_back(one.first);
    return ids;
  }

  bool operator<(const Change& other) const {
    return std::tie(cut, joined) < std::tie(other.cut, other.joined);
  }
};

}  // namespace npu::rewrite
