#include "sim/command_counter.h"

#include <algorithm>
#include <cmath>

#include "sim/error.h"

namespace npu::sim {
namespace {

// Iterations for which a condition is looked at one by one.
constexpr int64_t kMostIterations = 4096;

bool is_comparison(Op op) { return op == Op::kLt || op == Op::kLe || op == Op::kEq; }

}  // namespace

void CommandCounter::count(const std::vector<Node>& body, double times, double sure, bool is_told) {
  for (const Node& node : body) {
    if (node.kind == Node::Kind::kCommand) {
      command(node, times, sure);
      continue;
    }
    const ExprNode& extent = program_.exprs.nodes[node.extent];
    const bool is_fixed = extent.op == Op::kConst;
    const std::optional<double> known =
        is_fixed ? std::max(0.0, static_cast<double>(extent.value)) : mean_extent(node.extent);
    const double inner = std::nearbyint(times * known.value_or(1));
    iterations_ += inner;
    const bool tells = !is_told && begin(node);
    if (is_fixed) extents_[node.slot] = extent.value;
    count(node.body, inner, std::trunc(sure * known.value_or(0)), is_told || tells);
    if (tells) end();
  }
}

uint64_t CommandCounter::middle(const Operand& word) const {
  uint64_t value = word.base;
  for (const Operand::Step& step : word.steps) {
    const int64_t last = extents_[step.slot].value_or(1) - 1;
    value += step.increment * static_cast<uint64_t>(last >> 1);
  }
  return value;
}

std::optional<double> CommandCounter::mean_extent(uint32_t extent) {
  const std::optional<double> share = share_of_comparison(program_.exprs.nodes[extent]);
  return share ? share : mean_value(extent);
}

// In what share of a loop's iterations its variable compares so with a number, which is what most
// conditions are.
std::optional<double> CommandCounter::share_of_comparison(const ExprNode& value) const {
  if (!is_comparison(value.op)) return std::nullopt;
  const ExprNode& a = program_.exprs.nodes[value.inputs[0]];
  const ExprNode& b = program_.exprs.nodes[value.inputs[1]];
  const bool is_first = a.op == Op::kVar && b.op == Op::kConst;
  if (!is_first && !(a.op == Op::kConst && b.op == Op::kVar)) return std::nullopt;
  const std::optional<int64_t> turns = extents_[is_first ? a.slot : b.slot];
  if (turns.value_or(0) <= 0) return std::nullopt;
  const auto extent = static_cast<double>(*turns);
  const auto number = static_cast<double>(is_first ? b.value : a.value);
  if (value.op == Op::kEq) return number >= 0 && number < extent ? 1 / extent : 0;
  // Those below the number, or up to it.
  const bool is_up_to = (value.op == Op::kLe) == is_first;
  const double below = std::min(std::max(number + (is_up_to ? 1 : 0), 0.0), extent);
  return (is_first ? below : extent - below) / extent;
}

// The mean of an expression, where it is not below 0, over all iterations of the loops whose
// variables it has; none where these are too many, or some extent is not fixed.
std::optional<double> CommandCounter::mean_value(uint32_t value) {
  const ExprTable& exprs = program_.exprs;
  std::vector<uint32_t> slots;
  int64_t number = 1;
  for (const uint32_t node : exprs.nodes_of(value)) {
    if (exprs.nodes[node].op != Op::kVar) continue;
    const uint32_t slot = exprs.nodes[node].slot;
    if (std::find(slots.begin(), slots.end(), slot) != slots.end()) continue;
    const int64_t extent = extents_[slot].value_or(0);
    if (extent <= 0 || extent > kMostIterations / number) return std::nullopt;
    number *= extent;
    slots.push_back(slot);
    variables_[slot] = 0;
  }
  double total = 0;
  try {
    for (int64_t i = 0; i < number; ++i) {
      total +=
          static_cast<double>(std::max<int64_t>(0, exprs.evaluate(value, variables_, scratch_)));
      for (const uint32_t slot : slots) {
        if (++variables_[slot] < *extents_[slot]) break;
        variables_[slot] = 0;
      }
    }
  } catch (const SimError&) {  // an iteration that is not run asks for what there is not
    return std::nullopt;
  }
  return total / static_cast<double>(number);
}

}  // namespace npu::sim
