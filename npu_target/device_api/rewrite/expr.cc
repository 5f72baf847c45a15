#include "rewrite/expr.h"

#include <algorithm>
#include <utility>

#include "sim/error.h"

namespace npu::rewrite {
namespace {

[[noreturn]] void fail_division() {
  throw sim::SimError(sim::ErrorKind::kBadProgram, -1,
                      "expression: needs a non-zero divisor, has 0");
}

}  // namespace

Exprs::Exprs() : zero_(constant(0)), one_(constant(1)) {}

const Expr* Exprs::raw(Op op, int64_t value, Expr::Args args) {
  LoopMask loops = op == Op::kVar ? mask_of(static_cast<uint32_t>(value)) : 0;
  for (const Expr* arg : args) loops |= arg->loops;
  return exprs_.get({op, value, std::move(args), loops});
}

const Expr* Exprs::made(Op op, const Expr::Args& args) {
  switch (op) {
    case Op::kAdd:
      return add(args[0], args[1]);
    case Op::kSub:
      return sub(args[0], args[1]);
    case Op::kMul:
      return mul(args[0], args[1]);
    case Op::kFloorDiv:
      return floor_div(args[0], args[1]);
    case Op::kFloorMod:
      return floor_mod(args[0], args[1]);
    case Op::kMin:
    case Op::kMax:
      return extreme(op, args[0], args[1]);
    case Op::kLt:
    case Op::kLe:
    case Op::kEq:
      return compared(op, args[0], args[1]);
    case Op::kAnd:
    case Op::kOr:
      return logical(op, args[0], args[1]);
    case Op::kSelect:
      return selected(args[0], args[1], args[2]);
    case Op::kTable:
      return looked_up(args);
    case Op::kConst:
    case Op::kVar:
      break;
  }
  return nullptr;  // these have no arguments
}

const Expr* Exprs::folded(Op op, const Expr* a, const Expr* b) {
  if (!a->is_const() || !b->is_const()) return nullptr;
  return constant(sim::applied(op, a->value, b->value, 0));
}

const Expr* Exprs::commuted(Op op, const Expr*& a, const Expr*& b) {
  if (const Expr* number = folded(op, a, b)) return number;
  if (a->is_const()) std::swap(a, b);
  if (b->is_const() && a->op == op && a->args[1]->is_const()) {
    b = folded(op, a->args[1], b);
    a = a->args[0];
  }
  return nullptr;
}

const Expr* Exprs::add(const Expr* a, const Expr* b) {
  if (const Expr* number = commuted(Op::kAdd, a, b)) return number;
  return b == zero_ ? a : raw(Op::kAdd, 0, {a, b});
}

const Expr* Exprs::sub(const Expr* a, const Expr* b) {
  if (b->is_const()) return add(a, constant(wrapped(-Wide{b->value})));
  return a == b ? zero_ : raw(Op::kSub, 0, {a, b});
}

const Expr* Exprs::mul(const Expr* a, const Expr* b) {
  if (const Expr* number = commuted(Op::kMul, a, b)) return number;
  if (b == zero_) return zero_;
  return b == one_ ? a : raw(Op::kMul, 0, {a, b});
}

const Expr* Exprs::floor_div(const Expr* a, const Expr* b) {
  if (b == zero_) fail_division();
  if (b == one_) return a;
  const Expr* number = folded(Op::kFloorDiv, a, b);
  return number != nullptr ? number : raw(Op::kFloorDiv, 0, {a, b});
}

const Expr* Exprs::floor_mod(const Expr* a, const Expr* b) {
  if (b == zero_) fail_division();
  if (b == one_) return zero_;
  const Expr* number = folded(Op::kFloorMod, a, b);
  return number != nullptr ? number : raw(Op::kFloorMod, 0, {a, b});
}

const Expr* Exprs::extreme(Op op, const Expr* a, const Expr* b) {
  if (const Expr* number = commuted(op, a, b)) return number;
  return a == b ? a : raw(op, 0, {a, b});
}

const Expr* Exprs::compared(Op op, const Expr* a, const Expr* b) {
  if (a == b) return op == Op::kLt ? zero_ : one_;
  const Expr* number = folded(op, a, b);
  return number != nullptr ? number : raw(op, 0, {a, b});
}

const Expr* Exprs::logical(Op op, const Expr* a, const Expr* b) {
  if (const Expr* number = folded(op, a, b)) return number;
  if (a->is_const()) std::swap(a, b);
  if (b->is_const()) {
    const bool decides = (b->value != 0) == (op == Op::kOr);
    if (decides) return op == Op::kOr ? one_ : zero_;
    if (sim::is_condition(a->op)) return a;
  }
  if (a == b && sim::is_condition(a->op)) return a;
  return raw(op, 0, {a, b});
}

const Expr* Exprs::selected(const Expr* condition, const Expr* a, const Expr* b) {
  if (condition->is_const()) return condition->value != 0 ? a : b;
  return a == b ? a : raw(Op::kSelect, 0, {condition, a, b});
}

const Expr* Exprs::looked_up(const Expr::Args& args) {
  const Expr* index = args[0];
  const auto words = static_cast<int64_t>(args.size()) - 1;
  if (index->is_const() && index->value >= 0 && index->value < words) {
    return args[static_cast<size_t>(index->value) + 1];
  }
  const auto is_first = [&](const Expr* word) { return word == args[1]; };
  if (std::all_of(args.begin() + 1, args.end(), is_first)) return args[1];
  return raw(Op::kTable, 0, args);
}

}  // namespace npu::rewrite
