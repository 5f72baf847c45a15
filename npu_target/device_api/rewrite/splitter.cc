#include "rewrite/splitter.h"

#include <algorithm>
#include <iterator>

#include "rewrite/fetched.h"
#include "rewrite/replacement.h"

namespace npu::rewrite {
namespace {

// Instructions of a condition: its operations and the branch.
constexpr int64_t kAsked = 4;

}  // namespace

const Body* Splitter::split(const Body* body, const std::vector<uint32_t>& chosen) {
  return this->body(body, places_.loops({}), 1, chosen);
}

// A body that is run so many times.
const Body* Splitter::body(const Body* body, const LoopRanges* loops, int64_t times,
                           const std::vector<uint32_t>& chosen) {
  std::vector<const Node*> found;
  found.reserve(body->nodes.size());
  for (const Node* node : body->nodes) {
    if (node->is_command()) {
      found.push_back(node);
      continue;
    }
    Place place{loops, times, {}};
    const std::vector<uint32_t>& ids = loop_ids_.of(node);
    std::set_intersection(chosen.begin(), chosen.end(), ids.begin(), ids.end(),
                          std::back_inserter(std::get<2>(place)));
    auto& made = made_[place];  // does not move
    const auto known = made.find(node);
    const Body* parts =
        known != made.end() ? known->second : made[node] = loop(node, loops, times, chosen);
    found.insert(found.end(), parts->nodes.begin(), parts->nodes.end());
  }
  return nodes_.body(std::move(found));
}

const Body* Splitter::loop(const Node* node, const LoopRanges* loops, int64_t times,
                           const std::vector<uint32_t>& chosen) {
  const bool is_fixed = node->extent->is_const();
  const LoopRanges* inner = loops;
  if (is_fixed) inner = places_.loops(loops->with(node->loop_id, {0, node->extent->value - 1}));
  const Body* inside =
      body(node->body, inner, saturated_product(times, node->fixed_extent()), chosen);
  const Node* loop = nodes_.loop(node->loop_id, node->extent, inside);
  if (!is_fixed) return nodes_.body({loop});
  const bool is_chosen = std::binary_search(chosen.begin(), chosen.end(), loop->loop_id);
  return cut(loop, loops, times, is_chosen);
}

// A loop in ranges in which conditions are decided, if that pays.
const Body* Splitter::cut(const Node* loop, const LoopRanges* loops, int64_t times,
                          bool is_chosen) {
  Asked asked;
  const int64_t size = count(loop, 1, asked);
  const Body* uncut = nodes_.body({loop});
  if (asked.empty() || !(is_chosen || may_cut(loop))) return uncut;
  std::set<int64_t> cuts;
  int64_t questions = 0;
  for (const auto& [condition, often] : asked) {
    find_cuts(condition, loop, loops, cuts);
    questions = saturated_sum(questions, often);
  }
  if (cuts.empty()) return uncut;
  const int64_t extent = loop->extent->value;
  const int64_t saved =
      saturated_product(saturated_product(times, extent), saturated_product(kAsked, questions));
  if (!is_chosen && saved <= kFetched * size * static_cast<int64_t>(cuts.size())) return uncut;
  std::vector<const Node*> found;
  int64_t begin = 0;
  cuts.insert(extent);
  for (const int64_t end : cuts) {
    const bool is_one = end - begin == 1;
    const Body* body = Replacement(nodes_, loop->loop_id, is_one ? 0 : 1, begin).body(loop->body);
    if (is_one) {
      found.insert(found.end(), body->nodes.begin(), body->nodes.end());
    } else {
      found.push_back(nodes_.loop(loop->loop_id, nodes_.exprs.constant(end - begin), body));
    }
    begin = end;
  }
  return decider_.decided(nodes_.body(std::move(found)), loops);
}

// Whether a loop is an inner one, or of copies only: around the device's steps the host has time
// for questions, and there is much code that would be there twice.
bool Splitter::may_cut(const Node* loop) const {
  const auto& nodes = loop->body->nodes;
  const auto is_inner_loop = [](const Node* node) {
    return node->is_loop() && !node->is_condition();
  };
  if (std::none_of(nodes.begin(), nodes.end(), is_inner_loop)) return true;
  bool is_computing = false;
  for_each_node(*loop->body, [&](const Node& node) {
    if (is_computing || node.is_loop()) return;
    const CommandClass* found = commands_.find(node.funct, node.rs1->base);
    is_computing = found != nullptr && found->is_computing;
  });
  return !is_computing;
}

// Where a condition is decided that is so in the first iterations of a loop, or in the last.
void Splitter::find_cuts(const Expr* condition, const Node* loop, const LoopRanges* loops,
                         std::set<int64_t>& cuts) {
  if ((condition->loops & mask_of(loop->loop_id)) == 0) return;
  const int64_t extent = loop->extent->value;
  const auto is_decided = [&](int64_t first, int64_t last) {
    Ranges ranges(nodes_.exprs, loops->with(loop->loop_id, {first, last}));
    return ranges.simplified(condition)->is_const();
  };
  if (is_decided(0, 0)) {
    int64_t low = 1;
    int64_t high = extent;
    while (low < high) {
      const int64_t middle = low + (high - low + 1) / 2;
      if (is_decided(0, middle - 1)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    if (low < extent) cuts.insert(low);
  }
  if (is_decided(extent - 1, extent - 1)) {
    int64_t low = 0;
    int64_t high = extent - 1;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (is_decided(middle, extent - 1)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (low > 0) cuts.insert(low);
  }
}

// How many commands and loops a body has. Adds how often each of its conditions is asked in an
// iteration.
int64_t Splitter::count(const Node* loop, int64_t times, Asked& asked) {
  int64_t size = 0;
  for (const Node* node : loop->body->nodes) {
    ++size;
    if (node->is_command()) continue;
    if (node->is_condition()) {
      int64_t& often = asked[node->extent];
      often = saturated_sum(often, times);
      size += count(node, times, asked);
    } else {
      size += count(node, saturated_product(times, node->fixed_extent()), asked);
    }
  }
  return size;
}

}  // namespace npu::rewrite
