#include "sim/expression.h"

#include <algorithm>
#include <utility>

#include "sim/error.h"

namespace npu::sim {
namespace {

// Far beyond any real kernel, and small enough not to exhaust memory on a hostile file.
constexpr size_t kMaxTotalNodes = size_t{1} << 24;
constexpr uint32_t kNoRoot = UINT32_MAX;

int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t raw(int64_t value) { return static_cast<uint64_t>(value); }

[[noreturn]] void fail_division() {
  throw SimError(ErrorKind::kBadProgram, -1, "expression: needs a non-zero divisor, has 0");
}

[[noreturn]] void fail_index(int64_t index, uint32_t count) {
  throw SimError(ErrorKind::kBadProgram, -1,
                 "expression: needs an index below " + std::to_string(count) + ", has " +
                     std::to_string(index));
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) fail_division();
  if (b == -1) return wrap(0 - raw(a));  // the one quotient that may not fit
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0) fail_division();
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && ((remainder < 0) != (b < 0)) ? remainder + b : remainder;
}

// In the loop over an expression's nodes, which has no time for a call.
inline int64_t computed(Op op, int64_t a, int64_t b, int64_t c) {
  switch (op) {
    case Op::kAdd:
      return wrap(raw(a) + raw(b));
    case Op::kSub:
      return wrap(raw(a) - raw(b));
    case Op::kMul:
      return wrap(raw(a) * raw(b));
    case Op::kFloorDiv:
      return floor_div(a, b);
    case Op::kFloorMod:
      return floor_mod(a, b);
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kLt:
      return a < b;
    case Op::kLe:
      return a <= b;
    case Op::kEq:
      return a == b;
    case Op::kAnd:
      return a != 0 && b != 0;
    case Op::kOr:
      return a != 0 || b != 0;
    case Op::kSelect:
      return a != 0 ? b : c;
    case Op::kConst:
    case Op::kVar:
    case Op::kTable:
      break;
  }
  return 0;
}

}  // namespace

int64_t applied(Op op, int64_t a, int64_t b, int64_t c) { return computed(op, a, b, c); }

void ExprTable::prepare_root(uint32_t root) {
  prepared_.resize(nodes.size());
  if (prepared_[root].is_known) return;
  seen_at_.resize(nodes.size(), kNoRoot);
  const size_t begin = order_.size();
  const auto add = [&](uint32_t index) {
    if (std::exchange(seen_at_[index], root) != root) order_.push_back(index);
  };
  add(root);
  for (size_t i = begin; i < order_.size(); ++i) {
    const ExprNode& node = nodes[order_[i]];
    for (int k = 0; k < input_count(node.op); ++k) add(node.inputs[k]);
  }
  total_reachable_ += order_.size() - begin;
  if (total_reachable_ > kMaxTotalNodes) {
    throw SimError(ErrorKind::kBadProgram, -1,
                   "expressions: needs at most " + std::to_string(kMaxTotalNodes) +
                       " nodes over all uses, has more");
  }
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto is_const = [&](uint32_t index) { return nodes[index].op == Op::kConst; };
  order_.erase(std::remove_if(first, order_.end(), is_const), order_.end());
  std::sort(first, order_.end());  // inputs come before their users
  prepared_[root] = {true, begin, order_.size()};
}

void ExprTable::hold_constants(std::vector<int64_t>& scratch) const {
  scratch.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) scratch[i] = nodes[i].value;
}

int64_t ExprTable::evaluate(uint32_t root, const std::vector<int64_t>& variables,
                            std::vector<int64_t>& scratch) const {
  if (nodes[root].op == Op::kConst) return nodes[root].value;
  if (scratch.size() < nodes.size()) hold_constants(scratch);
  int64_t* const values = scratch.data();
  const ExprNode* const all = nodes.data();
  for (const uint32_t index : nodes_of(root)) {
    const ExprNode& node = all[index];
    if (node.op == Op::kVar) {
      values[index] = variables[node.slot];
    } else if (node.op == Op::kTable) {
      const uint64_t at = raw(values[node.inputs[0]]);
      if (at >= node.count) fail_index(values[node.inputs[0]], node.count);
      values[index] = words[node.slot + at];
    } else {
      values[index] =
          computed(node.op, values[node.inputs[0]], values[node.inputs[1]], values[node.inputs[2]]);
    }
  }
  return values[root];
}

}  // namespace npu::sim
