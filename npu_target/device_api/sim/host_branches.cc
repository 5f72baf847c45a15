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
  Decided ends;
  ends.reserve(2 * paths_.size());
  for (Path& path : paths_) decide(condition, std::move(path), ends);
  paths_.clear();
  for (auto& [rest, is_met] : ends) paths_.push_back(std::move(rest));
  const auto mean = static_cast<uint32_t>(std::floor(asked_ + 0.5 + kRounding));
  return mean - std::exchange(taken_, mean);
}

// Adds the ends of a path, and whether the condition is met there.
void HostBranches::decide(uint32_t condition, Path path, Decided& ends) {
  const ExprNode& node = nodes_[condition];
  if (is_opposite(node)) {
    const size_t first = ends.size();
    decide(node.inputs[0], std::move(path), ends);
    for (size_t i = first; i < ends.size(); ++i) ends[i].second = !ends[i].second;
    return;
  }
  if (is_joined(node)) {
    Decided halfway;
    halfway.reserve(2);
    decide(node.inputs[0], std::move(path), halfway);
    for (auto& [rest, is_met] : halfway) {
      if (is_met == (node.op == Op::kOr)) {
        ends.emplace_back(std::move(rest), is_met);
      } else {
        decide(node.inputs[1], std::move(rest), ends);
      }
    }
    return;
  }
  if (is_condition(node.op)) {
    const ExprNode& a = nodes_[node.inputs[0]];
    const ExprNode& b = nodes_[node.inputs[1]];
    const ExprNode& variable = a.op == Op::kVar ? a : b;
    const ExprNode& number = a.op == Op::kVar ? b : a;
    if (variable.op == Op::kVar && number.op == Op::kConst && tells_apart(variable.slot)) {
      compare(node, variable.slot, std::move(path), ends);
      return;
    }
  }
  ask(condition, std::move(path), ends);
}

// A value beyond either end of the loop is there, too, as no compiler knows where it ends.
void HostBranches::compare(const ExprNode& comparison, uint32_t slot, Path path, Decided& ends) {
  const auto extent = static_cast<int64_t>(extent_of_(slot));
  auto found = std::find_if(path.values.begin(), path.values.end(),
                            [slot](const Values& values) { return values.slot == slot; });
  if (found == path.values.end()) {
    found = path.values.insert(found, {slot, -1, extent, {}});
  }
  const bool is_first = nodes_[comparison.inputs[0]].op == Op::kVar;
  const int64_t number = nodes_[comparison.inputs[is_first ? 1 : 0]].value;
  auto [met, unmet] =
      parted(comparison, is_first, std::clamp<int64_t>(number, -2, extent + 1), *found);
  if (met.is_empty() || unmet.is_empty()) {
    ends.emplace_back(std::move(path), unmet.is_empty());
    return;
  }
  asked_ += path.share;
  const double whole = share_of(*found);
  const double share = path.share;
  const auto at = found - path.values.begin();
  const auto add = [&](Path end, Values values, bool is_met) {
    end.share = whole > 0 ? share * share_of(values) / whole : 0;
    end.values[static_cast<size_t>(at)] = std::move(values);
    ends.emplace_back(std::move(end), is_met);
  };
  add(path, std::move(met), true);
  add(std::move(path), std::move(unmet), false);
}

// The values for which a comparison with a number is met, and the others.
std::pair<HostBranches::Values, HostBranches::Values> HostBranches::parted(
    const ExprNode& comparison, bool is_variable_first, int64_t number, const Values& values) {
  Values met = values;
  Values unmet = values;
  if (comparison.op == Op::kEq) {
    const bool is_there = number >= values.least && number <= values.greatest;
    met.least = number;
    met.greatest = is_there ? number : number - 1;
    if (is_there) unmet.without.push_back(number);
  } else {
    // Up to which value it is met, or from the next one on.
    const int64_t last = number - ((comparison.op == Op::kLt) == is_variable_first ? 1 : 0);
    Values& low = is_variable_first ? met : unmet;
    Values& high = is_variable_first ? unmet : met;
    low.greatest = std::min(low.greatest, last);
    high.least = std::max(high.least, last + 1);
  }
  for (Values* part : {&met, &unmet}) {
    std::vector<int64_t>& without = part->without;
    without.erase(std::remove_if(without.begin(), without.end(),
                                 [part](int64_t value) {
                                   return value < part->least || value > part->greatest;
                                 }),
                  without.end());
  }
  return {std::move(met), std::move(unmet)};
}

void HostBranches::ask(uint32_t condition, Path path, Decided& ends) {
  const auto known = std::find_if(path.known.begin(), path.known.end(),
                                  [condition](const auto& one) { return one.first == condition; });
  if (known != path.known.end()) {
    const bool is_met = known->second;
    ends.emplace_back(std::move(path), is_met);
    return;
  }
  asked_ += path.share;
  path.share /= 2;
  path.known.emplace_back(condition, true);
  ends.emplace_back(path, true);
  path.known.back().second = false;
  ends.emplace_back(std::move(path), false);
}

// The part of a loop's turns that these values are.
double HostBranches::share_of(const Values& values) const {
  const auto extent = static_cast<int64_t>(extent_of_(values.slot));
  return static_cast<double>(values.count_below(extent)) / static_cast<double>(extent);
}

bool HostBranches::Values::is_empty() const {
  return greatest - least + 1 <= static_cast<int64_t>(without.size());
}

int64_t HostBranches::Values::count_below(int64_t extent) const {
  const int64_t first = std::max<int64_t>(least, 0);
  const int64_t last = std::min(greatest, extent - 1);
  const auto left_out = std::count_if(without.begin(), without.end(), [&](int64_t value) {
    return value >= first && value <= last;
  });
  return std::max<int64_t>(0, last - first + 1) - left_out;
}

}  // namespace npu::sim
