#include "rewrite/parts.h"

#include <algorithm>

namespace npu::rewrite {

Parts::Parts(Nodes& nodes, Places& places, Decider& decider, const CommandSet& commands,
             const Options& options, const Body* body)
    : nodes_(nodes),
      options_(options),
      body_(body),
      splitter_(nodes, places, decider, loop_ids_, commands),
      unroller_(nodes, decider, loop_ids_),
      hoister_(nodes, places),
      sums_(nodes),
      split_(body->nodes.size()),
      joined_(body->nodes.size()),
      found_(body->nodes.size()) {
  for (const Node* node : body->nodes) {
    ids_in_.push_back(node->is_loop() ? loop_ids_.of(node) : std::vector<uint32_t>{});
    for (const uint32_t loop_id : ids_in_.back()) {
      with_loop_[loop_id].push_back(ids_in_.size() - 1);
    }
  }
}

const Body* Parts::changed(const Change& change) {
  if (unchanged_.empty()) {
    unchanged_ = each([&](size_t at) { return part(at, {}); });
  }
  std::vector<const Body*> parts = unchanged_;
  for (const uint32_t loop_id : change.loop_ids()) {
    for (const size_t at : with_loop_[loop_id]) parts[at] = part(at, change.of(ids_in_[at]));
  }
  return whole(parts);
}

bool Parts::is_joined(const Change& change, uint32_t loop_id, int64_t iterations) {
  for (const size_t at : with_loop_[loop_id]) {
    for (const auto& [id, extent, factor] : joined(at, change.of(ids_in_[at])).taken) {
      if (id == loop_id && factor != std::min(extent, iterations)) return false;
    }
  }
  return true;
}

const Body* Parts::without_unrolling() {
  return whole(each([&](size_t at) {
    const Body* found = split(at, {});
    return options_.hoisting ? hoister_.hoisted(found) : found;
  }));
}

const Body* Parts::after_splitting() {
  return together(each([&](size_t at) { return split(at, {}); }));
}

const Body* Parts::after_unrolling() {
  return together(each([&](size_t at) { return unrolled(at, {}); }));
}

const Body* Parts::after_hoisting() {
  return together(each([&](size_t at) { return part(at, {}); }));
}

template <typename Make>
std::vector<const Body*> Parts::each(const Make& make) {
  std::vector<const Body*> parts;
  parts.reserve(body_->nodes.size());
  for (size_t at = 0; at < body_->nodes.size(); ++at) parts.push_back(make(at));
  return parts;
}

const Body* Parts::together(const std::vector<const Body*>& parts) {
  std::vector<const Node*> found;
  found.reserve(parts.size());
  for (const Body* part : parts) {
    found.insert(found.end(), part->nodes.begin(), part->nodes.end());
  }
  return nodes_.body(std::move(found));
}

const Body* Parts::whole(const std::vector<const Body*>& parts) {
  const Body* found = together(parts);
  return options_.sums ? sums_.shared(found) : found;
}

const Body* Parts::part(size_t at, const Change& change) {
  const auto known = found_[at].find(change);
  if (known != found_[at].end()) return known->second;
  const Body* found = unrolled(at, change);
  if (options_.hoisting) found = hoister_.hoisted(found);
  return found_[at][change] = found;
}

const Body* Parts::unrolled(size_t at, const Change& change) {
  return options_.unrolling ? joined(at, change).body : split(at, change);
}

const Unrolled& Parts::joined(size_t at, const Change& change) {
  const auto known = joined_[at].find(change);
  if (known != joined_[at].end()) return known->second;
  return joined_[at][change] = unroller_.unrolled(split(at, change), change.joined);
}

const Body* Parts::split(size_t at, const Change& change) {
  const Body* node = nodes_.body({body_->nodes[at]});
  if (!options_.splitting) return node;
  const auto known = split_[at].find(change.cut);
  if (known != split_[at].end()) return known->second;
  return split_[at][change.cut] = splitter_.split(node, change.cut);
}

}  // namespace npu::rewrite
