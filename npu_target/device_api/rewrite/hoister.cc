#include "rewrite/hoister.h"

#include <algorithm>

namespace npu::rewrite {
namespace {

// Of a sum's terms together: numbers below do not come near to where they wrap around.
constexpr Wide kFar = kInt64Max / 4;

Wide absolute(Wide value) { return value < 0 ? -value : value; }

bool is_sum(Op op) { return op == Op::kAdd || op == Op::kSub || op == Op::kMul; }
bool is_comparison(Op op) { return op == Op::kLt || op == Op::kLe || op == Op::kEq; }

}  // namespace

HoistedExprs::Sum HoistedExprs::Sum::times(int64_t factor) const {
  Sum sum{number * factor, terms};
  for (Term& term : sum.terms) term.by *= factor;
  return sum;
}

const Operand* HoistedExprs::operand(const Operand* operand) {
  if (operand->general.empty()) return operand;
  Operand found = *operand;
  for (Operand::Term& term : found.general) term.expr = expr(term.expr);
  return nodes_.operand(std::move(found));
}

const Expr* HoistedExprs::expr(const Expr* expr) {
  if (expr->is_const() || expr->is_var()) return expr;
  const auto known = found_.find(expr);
  if (known != found_.end()) return known->second;
  const Expr* found = make(expr);
  found_[expr] = found;
  return found;
}

const Expr* HoistedExprs::make(const Expr* expr) {
  if (is_sum(expr->op)) {
    const Sum sum = sum_of(expr);
    if (sum.terms != std::vector<Term>{{1, expr}}) return total(sum);
  }
  if (is_comparison(expr->op) && !sim::is_condition(expr->args[0]->op)) {
    const auto is_leaf = [](const Expr* arg) { return arg->is_var() || arg->is_const(); };
    if (std::all_of(expr->args.begin(), expr->args.end(), is_leaf)) return expr;
    const Sum sum = sum_of(exprs_.sub(expr->args[1], expr->args[0]));
    if (!sum.terms.empty() && is_small(sum)) return comparison(expr->op, sum);
  }
  Expr::Args args;
  for (const Expr* arg : expr->args) args.push_back(this->expr(arg));
  return args == expr->args ? expr : exprs_.made(expr->op, args);
}

HoistedExprs::Sum HoistedExprs::sum_of(const Expr* expr) {
  OperandSum parts;
  parts.add(expr, 1);
  const Operand word = parts.made();
  Sum sum{static_cast<int64_t>(word.base), {}};
  for (const Operand::Step& step : word.steps) {
    sum.terms.push_back({step.by, exprs_.var(step.loop_id)});
  }
  for (const Operand::Term& term : word.general) {
    // A product is what it was.
    sum.terms.push_back({term.by, term.expr == expr ? expr : this->expr(term.expr)});
  }
  std::stable_sort(sum.terms.begin(), sum.terms.end(),
                   [this](const Term& a, const Term& b) { return depth(a.expr) < depth(b.expr); });
  return sum;
}

// Terms of outer loops first.
const Expr* HoistedExprs::total(const Sum& sum) {
  const Expr* total = exprs_.constant(wrapped(sum.number));
  for (const Term& term : sum.terms) {
    if (term.by == -1 && total != exprs_.zero()) {
      total = exprs_.sub(total, term.expr);
    } else {
      total = exprs_.add(total, exprs_.mul(term.expr, exprs_.constant(wrapped(term.by))));
    }
  }
  return total;
}

// 0 compared with a sum: terms of the innermost loop on one side, others on the other.
const Expr* HoistedExprs::comparison(Op op, const Sum& sum) {
  const size_t deepest = depth(sum.terms.back().expr);
  Sum inner{0, {}};
  Sum outer{sum.number, {}};
  for (const Term& term : sum.terms) {
    (depth(term.expr) == deepest ? inner : outer).terms.push_back(term);
  }
  const Wide by = inner.terms[0].by;
  if (inner.terms.size() > 1) {
    if (by < 0) return exprs_.compared(op, total(inner.times(-1)), total(outer));
    return exprs_.compared(op, total(outer.times(-1)), total(inner));
  }
  const Expr* what = inner.terms[0].expr;
  int64_t size = wrapped(absolute(by));
  const auto multiple = [&] { return exprs_.mul(what, exprs_.constant(size)); };
  if (op == Op::kEq) {
    const Expr* other = total(by < 0 ? outer : outer.times(-1));
    if (!other->is_const()) return exprs_.compared(Op::kEq, multiple(), other);
    if (floor_mod(other->value, size) != 0) return exprs_.zero();
    const int64_t quotient = wrapped(floor_div(other->value, size));
    return exprs_.compared(Op::kEq, what, exprs_.constant(quotient));
  }
  if (op == Op::kLt) outer = outer.plus(-1);
  if (!outer.terms.empty()) {  // no division for what may be shared with other conditions
    what = multiple();
    size = 1;
  }
  if (by < 0) {
    return exprs_.compared(Op::kLe, what, exprs_.floor_div(total(outer), exprs_.constant(size)));
  }
  const Expr* least = total(outer.times(-1).plus(size - 1));
  return exprs_.compared(Op::kLe, exprs_.floor_div(least, exprs_.constant(size)), what);
}

// Of the innermost loop around whose variable is in an expression: 0 if none is.
size_t HoistedExprs::depth(const Expr* expr) {
  if (expr->is_const()) return 0;
  if (expr->is_var()) {
    const auto at = std::find(around_.rbegin(), around_.rend(), expr->loop_id());
    return static_cast<size_t>(around_.rend() - at);
  }
  const auto known = depths_.find(expr);
  if (known != depths_.end()) return known->second;
  size_t deepest = 0;
  for (const Expr* arg : expr->args) deepest = std::max(deepest, depth(arg));
  depths_[expr] = deepest;
  return deepest;
}

// Whether no sum of some of the terms wraps around.
bool HoistedExprs::is_small(const Sum& sum) {
  Wide most = absolute(sum.number);
  for (const Term& term : sum.terms) {
    const Range range = ranges_.of(term.expr);
    if (range.least == kInt64Min || range.greatest == kInt64Max) return false;
    const Wide size = std::max(absolute(range.least), absolute(range.greatest));
    most += absolute(term.by) * size;
    if (most >= kFar) return false;
  }
  return most < kFar;
}

Hoister::Place& Hoister::place(const Around& around, const LoopRanges* loops) {
  std::map<Around, Place>& places = found_[loops];
  const auto known = places.find(around);
  if (known != places.end()) return known->second;
  Place made{{nodes_, around, places_.ranges(loops)}, {}};
  return places.emplace(around, std::move(made)).first->second;
}

// A body inside of loops with these ids, outermost first, and values of their variables.
const Body* Hoister::hoisted(const Body* body, const Around& around, const LoopRanges* loops) {
  Place& place = this->place(around, loops);
  std::vector<const Node*> found;
  found.reserve(body->nodes.size());
  for (const Node* node : body->nodes) {
    if (node->is_command() && node->rs1->general.empty() && node->rs2->general.empty()) {
      found.push_back(node);
      continue;
    }
    const auto known = place.made.find(node);
    found.push_back(known != place.made.end()
                        ? known->second
                        : place.made[node] = make(node, around, loops, place));
  }
  return nodes_.body(std::move(found));
}

const Node* Hoister::make(const Node* node, const Around& around, const LoopRanges* loops,
                          Place& place) {
  if (node->is_command()) {
    return nodes_.command(node->funct, place.exprs.operand(node->rs1),
                          place.exprs.operand(node->rs2));
  }
  Around inside = around;
  LoopRanges inner = loops->without(node->loop_id);
  if (node->is_condition()) {
    inner = inner.with(node->loop_id, {0, 0});
  } else {
    inside.push_back(node->loop_id);
    if (node->extent->is_const()) {
      inner = inner.with(node->loop_id, {0, std::max<int64_t>(0, node->extent->value - 1)});
    }
  }
  const Body* body = hoisted(node->body, inside, places_.loops(std::move(inner)));
  return nodes_.loop(node->loop_id, place.exprs.expr(node->extent), body);
}

}  // namespace npu::rewrite
