#include "sim/host_branches.h"

#include <algorithm>
#include <cmath>

namespace npu::sim {
namespace {

// Compilers do not copy code, or follow values, without end either.
constexpr size_t kMostPaths = 64;
constexpr uint64_t kMostValues = 4096;
// Halves are rounded up, whatever the sum of shares makes of them.
constexpr double kRounding = 1e-9;

bool is_joined(const ExprNode& node) { return node.op == Op::kAnd || node.op == Op::kOr; }

bool is_met(const ExprNode& comparison, int64_t a, int64_t b) {
  return comparison.op == Op::kLt ? a < b : comparison.op == Op::kLe ? a <= b : a == b;
}

}  // namespace

std::set<uint32_t> HostBranches::nodes_of(uint32_t condition) const {
  std::set<uint32_t> branching;
  add_nodes(condition, branching);
  return branching;
}

void HostBranches::add_nodes(uint32_t index, std::set<uint32_t>& branching) const {
  const ExprNode& node = nodes_[index];
  if (!is_condition(node.op)) return;
  branching.insert(index);
  if (is_opposite(node)) {
    add_nodes(node.inputs[0], branching);
  } else if (is_joined(node)) {
    for (const uint32_t input : {node.inputs[0], node.inputs[1]}) add_nodes(input, branching);
  }
}

std::vector<uint64_t> HostBranches::numbers_in(const std::set<uint32_t>& branching) const {
  std::vector<uint64_t> numbers;
  for (const uint32_t index : branching) {
    const ExprNode& node = nodes_[index];
    if (is_joined(node) || is_opposite(node)) continue;
    for (const uint32_t input : {node.inputs[0], node.inputs[1]}) {
      if (nodes_[input].op != Op::kConst) continue;
      numbers.push_back(static_cast<uint64_t>(nodes_[input].value));
    }
  }
  return numbers;
}

// The opposite of a condition is a branch the other way.
bool HostBranches::is_opposite(const ExprNode& node) const {
  if (node.op != Op::kEq || !is_condition(nodes_[node.inputs[0]].op)) return false;
  const ExprNode& number = nodes_[node.inputs[1]];
  return number.op == Op::kConst && number.value == 0;
}

// Whether its values are looked at one by one.
bool HostBranches::tells_apart(uint32_t slot) const {
  const uint64_t extent = extent_of_(slot);
  return extent > 0 && extent <= kMostValues;
}

uint32_t HostBranches::take(uint32_t condition) {
  if (paths_.empty() || paths_.size() > kMostPaths) {
    paths_.assign(1, Path());
    asked_ = 0;
    taken_ = 0;
  }
  std::vector<Path> paths;
  for (Path& path : paths_) {
    for (auto& [rest, is_met] : decide(condition, std::move(path))) {
      paths.push_back(std::move(rest));
    }
  }
  paths_ = std::move(paths);
  const auto mean = static_cast<uint32_t>(std::floor(asked_ + 0.5 + kRounding));
  return mean - std::exchange(taken_, mean);
}

HostBranches::Decided HostBranches::decide(uint32_t condition, Path path) {
  const ExprNode& node = nodes_[condition];
  if (is_opposite(node)) {
    Decided found = decide(node.inputs[0], std::move(path));
    for (auto& [rest, is_met] : found) is_met = !is_met;
    return found;
  }
  if (is_joined(node)) {
    Decided found;
    for (auto& [rest, is_met] : decide(node.inputs[0], std::move(path))) {
      if (is_met == (node.op == Op::kOr)) {
        found.emplace_back(std::move(rest), is_met);
        continue;
      }
      for (auto& end : decide(node.inputs[1], std::move(rest))) found.push_back(std::move(end));
    }
    return found;
  }
  if (is_condition(node.op)) {
    const ExprNode& a = nodes_[node.inputs[0]];
    const ExprNode& b = nodes_[node.inputs[1]];
    const ExprNode& variable = a.op == Op::kVar ? a : b;
    const ExprNode& number = a.op == Op::kVar ? b : a;
    if (variable.op == Op::kVar && number.op == Op::kConst && tells_apart(variable.slot)) {
      return compare(node, variable.slot, std::move(path));
    }
  }
  return ask(condition, std::move(path));
}

// A value beyond either end of the loop is there, too, as no compiler knows where it ends.
HostBranches::Decided HostBranches::compare(const ExprNode& comparison, uint32_t slot, Path path) {
  const auto [found, is_new] = path.values.try_emplace(slot);
  Values& values = found->second;
  if (is_new) {
    const auto extent = static_cast<int64_t>(extent_of_(slot));
    for (int64_t value = -1; value <= extent; ++value) values.push_back(value);
  }
  const auto side = [&](uint32_t index, int64_t value) {
    return nodes_[index].op == Op::kVar ? value : nodes_[index].value;
  };
  const auto others = std::stable_partition(values.begin(), values.end(), [&](int64_t value) {
    return is_met(comparison, side(comparison.inputs[0], value), side(comparison.inputs[1], value));
  });
  if (others == values.begin() || others == values.end()) {
    const bool is_met = others == values.end();
    Decided all;
    all.emplace_back(std::move(path), is_met);
    return all;
  }
  asked_ += path.share;
  const double whole = share_of(values, slot);
  Decided both;
  for (const bool is_met : {true, false}) {
    Path part = path;
    part.values[slot] = is_met ? Values(values.begin(), others) : Values(others, values.end());
    part.share = whole > 0 ? path.share * share_of(part.values[slot], slot) / whole : 0;
    both.emplace_back(std::move(part), is_met);
  }
  return both;
}

HostBranches::Decided HostBranches::ask(uint32_t condition, Path path) {
  Decided found;
  const auto known = path.known.find(condition);
  if (known != path.known.end()) {
    const bool is_met = known->second;
    found.emplace_back(std::move(path), is_met);
    return found;
  }
  asked_ += path.share;
  path.share /= 2;
  for (const bool is_met : {true, false}) {
    path.known[condition] = is_met;
    found.emplace_back(path, is_met);
  }
  return found;
}

// The part of a loop's turns that these values are.
double HostBranches::share_of(const Values& values, uint32_t slot) const {
  const uint64_t extent = extent_of_(slot);
  const auto count = std::count_if(values.begin(), values.end(), [&](int64_t value) {
    return value >= 0 && value < static_cast<int64_t>(extent);
  });
  return static_cast<double>(count) / static_cast<double>(extent);
}

}  // namespace npu::sim
