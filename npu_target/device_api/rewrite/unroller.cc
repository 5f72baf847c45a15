#include "rewrite/unroller.h"

#include <algorithm>

#include "rewrite/fetched.h"
#include "rewrite/replacement.h"

namespace npu::rewrite {
namespace {

// Commands of a body: of more, another branch saved is next to nothing.
constexpr int64_t kMost = 16;
// Where iterations are left over, so many others at least.
constexpr int64_t kLeastWithRest = 4;

// Commands and conditions of a body, or too many where it has loops.
int64_t size_of(const Node* loop) {
  int64_t size = 0;
  for (const Node* node : loop->body->nodes) {
    if (node->is_loop() && !node->is_condition()) return kMost + 1;
    size += node->is_command() ? 1 : 1 + size_of(node);
  }
  return std::max<int64_t>(size, 1);
}

// How many iterations of a loop to make one, if it is run so many times: the most that pay.
int64_t factor_for(int64_t extent, int64_t size, int64_t times) {
  int64_t best = 1;
  for (int64_t factor = 2; factor <= std::min(extent, kMost / size); ++factor) {
    const int64_t rest = extent % factor;
    if ((factor + rest) * size > kMost || (rest != 0 && factor < kLeastWithRest)) continue;
    if (rest != 0 && best > 1 && extent % best == 0) continue;  // rather none left over
    const int64_t branches = extent - extent / factor + (factor == extent ? 2 : 0);  // to begin it
    const int64_t saved = saturated_product(times, branches);
    if (saved > kFetched * (factor - 1 + rest) * size) best = factor;
  }
  return best;
}

}  // namespace

Unrolled Unroller::body(const Body* body, int64_t times, const Joined& joined) {
  Unrolled all;
  std::vector<const Node*> found;
  found.reserve(body->nodes.size());
  for (const Node* node : body->nodes) {
    if (node->is_command()) {
      found.push_back(node);
      continue;
    }
    std::pair<int64_t, Joined> place{times, {}};
    if (!joined.empty()) {
      const std::vector<uint32_t>& ids = loop_ids_.of(node);
      for (const auto& one : joined) {
        if (std::binary_search(ids.begin(), ids.end(), one.first)) place.second.push_back(one);
      }
    }
    auto& made = made_[place];  // does not move
    auto known = made.find(node);
    if (known == made.end()) known = made.emplace(node, loop(node, times, joined)).first;
    const Unrolled& parts = known->second;
    found.insert(found.end(), parts.body->nodes.begin(), parts.body->nodes.end());
    all.taken.insert(all.taken.end(), parts.taken.begin(), parts.taken.end());
  }
  std::sort(all.taken.begin(), all.taken.end());
  all.taken.erase(std::unique(all.taken.begin(), all.taken.end()), all.taken.end());
  all.body = nodes_.body(std::move(found));
  return all;
}

Unrolled Unroller::loop(const Node* node, int64_t times, const Joined& joined) {
  Unrolled found = body(node->body, saturated_product(times, node->fixed_extent()), joined);
  const Node* loop = nodes_.loop(node->loop_id, node->extent, found.body);
  found.body = nodes_.body({loop});
  if (!node->extent->is_const()) return found;
  const int64_t extent = node->extent->value;
  const auto is_mine = [&](const auto& one) { return one.first == node->loop_id; };
  const auto mine = std::find_if(joined.begin(), joined.end(), is_mine);
  int64_t factor = std::min<int64_t>(extent, mine == joined.end() ? 0 : mine->second);
  if (factor == 0) factor = factor_for(extent, size_of(loop), times);
  const std::tuple one(node->loop_id, extent, factor);
  found.taken.insert(std::lower_bound(found.taken.begin(), found.taken.end(), one), one);
  if (factor != 1) found.body = by(loop, extent, factor);
  return found;
}

// A loop with so many iterations in one, and those that are left over behind it.
const Body* Unroller::by(const Node* loop, int64_t extent, int64_t factor) {
  const int64_t repeats = extent / factor;
  if (repeats == 1) return iterations(loop, 0, extent);
  std::vector<const Node*> joined;
  for (int64_t index = 0; index < factor; ++index) {
    const Body* one = Replacement(nodes_, loop->loop_id, factor, index).body(loop->body);
    joined.insert(joined.end(), one->nodes.begin(), one->nodes.end());
  }
  std::vector<const Node*> found = {
      nodes_.loop(loop->loop_id, nodes_.exprs.constant(repeats), nodes_.body(std::move(joined)))};
  const Body* left = iterations(loop, repeats * factor, extent);
  found.insert(found.end(), left->nodes.begin(), left->nodes.end());
  return decider_.decided(nodes_.body(std::move(found)));
}

// Iterations of a loop one by one.
const Body* Unroller::iterations(const Node* loop, int64_t begin, int64_t end) {
  std::vector<const Node*> found;
  for (int64_t index = begin; index < end; ++index) {
    const Body* one = Replacement(nodes_, loop->loop_id, 0, index).body(loop->body);
    found.insert(found.end(), one->nodes.begin(), one->nodes.end());
  }
  return decider_.decided(nodes_.body(std::move(found)));
}

}  // namespace npu::rewrite
