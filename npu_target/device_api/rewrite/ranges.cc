#include "rewrite/ranges.h"

#include <algorithm>

namespace npu::rewrite {
namespace {

// Of an operation's arguments.
using ArgRanges = Few<Range, 3>;

bool may_be_zero(Range range) { return range.least <= 0 && 0 <= range.greatest; }
bool is_zero(Range range) { return range == Range{0, 0}; }

// What may wrap around is not known.
Range bounded(Wide least, Wide greatest) {
  if (least < kInt64Min || greatest > kInt64Max) return {};
  return {static_cast<int64_t>(least), static_cast<int64_t>(greatest)};
}

Range product(Range x, Range y) {
  const Wide a = x.least, b = x.greatest, c = y.least, d = y.greatest;
  const auto bounds = std::minmax({a * c, a * d, b * c, b * d});
  return bounded(bounds.first, bounds.second);
}

Range modulo(Range x, int64_t by) {
  if (floor_div(x.least, by) != floor_div(x.greatest, by)) return {0, by - 1};
  return bounded(floor_mod(x.least, by), floor_mod(x.greatest, by));
}

// Of a table: `ranges` are those of its index and of its words.
Range looked_up(const ArgRanges& ranges) {
  const auto words = static_cast<int64_t>(ranges.size()) - 1;
  const int64_t first = std::max<int64_t>(ranges[0].least, 0);
  const int64_t last = std::min(ranges[0].greatest, words - 1);
  if (first > last) return {};
  Range range = ranges[static_cast<size_t>(first) + 1];
  for (int64_t at = first; at <= last; ++at) {
    const int64_t word = ranges[static_cast<size_t>(at) + 1].least;
    range = {std::min(range.least, word), std::max(range.greatest, word)};
  }
  return range;
}

// Of an operation's result.
Range bounds(Op op, const ArgRanges& ranges) {
  if (op == Op::kTable) return looked_up(ranges);
  const Range x = ranges[0];
  const Range y = ranges[1];
  const Wide a = x.least, b = x.greatest, c = y.least, d = y.greatest;
  switch (op) {
    case Op::kAdd:
      return bounded(a + c, b + d);
    case Op::kSub:
      return bounded(a - d, b - c);
    case Op::kMul:
      return product(x, y);
    case Op::kMin:
      return bounded(std::min(a, c), std::min(b, d));
    case Op::kMax:
      return bounded(std::max(a, c), std::max(b, d));
    case Op::kFloorDiv:
      return c == d && c > 0 ? bounded(floor_div(a, c), floor_div(b, c)) : Range{};
    case Op::kFloorMod:
      return c == d && c > 0 ? modulo(x, y.least) : Range{};
    case Op::kLt:
      return {b < c, a < d};
    case Op::kLe:
      return {b <= c, a <= d};
    case Op::kEq:
      return {a == b && b == c && c == d, a <= d && c <= b};
    case Op::kAnd:
      return {!may_be_zero(x) && !may_be_zero(y), !is_zero(x) && !is_zero(y)};
    case Op::kOr:
      return {!may_be_zero(x) || !may_be_zero(y), !is_zero(x) || !is_zero(y)};
    case Op::kSelect:
      return {std::min(y.least, ranges[2].least), std::max(y.greatest, ranges[2].greatest)};
    case Op::kConst:
    case Op::kVar:
    case Op::kTable:
      break;
  }
  return {};
}

}  // namespace

LoopRanges LoopRanges::with(uint32_t loop_id, Range range) const {
  LoopRanges others = without(loop_id);
  const auto is_before = [](const Loop& loop, uint32_t id) { return loop.id < id; };
  others.loops.push_back({loop_id, range});
  Loop* const last = others.loops.end() - 1;
  std::rotate(std::lower_bound(others.loops.begin(), last, loop_id, is_before), last, last + 1);
  return others;
}

LoopRanges LoopRanges::without(uint32_t loop_id) const {
  LoopRanges others;
  for (const Loop& loop : loops) {
    if (loop.id != loop_id) others.loops.push_back(loop);
  }
  return others;
}

Range LoopRanges::of(uint32_t loop_id) const {
  for (const auto& [id, range] : loops) {
    if (id == loop_id) return range;
  }
  return {};
}

uint64_t LoopRanges::hash() const {
  uint64_t hash = loops.size();
  for (const auto& [id, range] : loops) {
    hash = mixed(mixed(mixed(hash, id), static_cast<uint64_t>(range.least)),
                 static_cast<uint64_t>(range.greatest));
  }
  return hash;
}

Ranges::Found Ranges::find(const Expr* expr) {
  if (expr->is_const()) return {expr, {expr->value, expr->value}};
  if (expr->is_var()) return {expr, loops_.of(expr->loop_id())};
  const auto known = found_.find(expr);
  if (known != found_.end()) return known->second;
  return found_[expr] = make(expr);
}

Ranges::Found Ranges::make(const Expr* expr) {
  Expr::Args args;
  ArgRanges ranges;
  for (const Expr* arg : expr->args) {
    const Found found = find(arg);
    args.push_back(found.expr);
    ranges.push_back(found.range);
  }
  const Range range = bounds(expr->op, ranges);
  if (range.least == range.greatest) return {exprs_.constant(range.least), range};
  if (expr->op == Op::kMin || expr->op == Op::kMax) {
    for (const size_t k : {0, 1}) {  // one of the two is it
      const Range other = ranges[1 - k];
      if (expr->op == Op::kMin ? ranges[k].greatest <= other.least
                               : ranges[k].least >= other.greatest) {
        return {args[k], ranges[k]};
      }
    }
  }
  if (expr->op == Op::kFloorMod && ranges[0].least >= 0 && ranges[0].greatest < ranges[1].least) {
    return {args[0], range};
  }
  if (expr->op == Op::kEq && args[1] == exprs_.zero() &&
      (args[0]->op == Op::kLt || args[0]->op == Op::kLe)) {
    const Op negated = args[0]->op == Op::kLt ? Op::kLe : Op::kLt;
    return {exprs_.compared(negated, args[0]->args[1], args[0]->args[0]), range};
  }
  return {args == expr->args ? expr : exprs_.made(expr->op, args), range};
}

Ranges& Places::ranges(const LoopRanges* loops) {
  std::unique_ptr<Ranges>& ranges = ranges_[loops];
  if (!ranges) ranges = std::make_unique<Ranges>(exprs_, *loops);
  return *ranges;
}

}  // namespace npu::rewrite
