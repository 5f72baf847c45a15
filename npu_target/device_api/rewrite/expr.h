// Integer expressions over loop variables, in their simplest forms.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "rewrite/interner.h"
#include "rewrite/numbers.h"
#include "sim/expression.h"
#include "sim/few.h"

namespace npu::rewrite {

using sim::Few;
using sim::Op;

// Which loops' variables something has, several loops a bit: a filter.
using LoopMask = uint64_t;
inline LoopMask mask_of(uint32_t loop_id) { return LoopMask{1} << (loop_id % 64); }

// Equal ones are one object. Those of a table are an index and constants.
struct Expr {
  using Args = Few<const Expr*, 3>;

  Op op;
  int64_t value;  // of a constant; of a variable the loop's id
  Args args;
  LoopMask loops;

  bool is_const() const { return op == Op::kConst; }
  bool is_var() const { return op == Op::kVar; }
  uint32_t loop_id() const { return static_cast<uint32_t>(value); }
  uint64_t hash() const {
    uint64_t hash = mixed(static_cast<uint64_t>(op), static_cast<uint64_t>(value));
    for (const Expr* arg : args) hash = mixed(hash, arg);
    return hash;
  }
  bool operator==(const Expr& other) const {
    return op == other.op && value == other.value && args == other.args;
  }
};

// Makes expressions. What is known when they are made is folded, the same way as by the functions
// of `npu_target/program/expr.py`; a division by zero throws SimError bad_program.
class Exprs {
 public:
  Exprs();

  // As it is, nothing folded.
  const Expr* raw(Op op, int64_t value, Expr::Args args);

  const Expr* constant(int64_t value) { return raw(Op::kConst, value, {}); }
  const Expr* var(uint32_t loop_id) { return raw(Op::kVar, loop_id, {}); }
  const Expr* zero() const { return zero_; }

  const Expr* made(Op op, const Expr::Args& args);
  const Expr* add(const Expr* a, const Expr* b);
  const Expr* sub(const Expr* a, const Expr* b);
  const Expr* mul(const Expr* a, const Expr* b);
  const Expr* floor_div(const Expr* a, const Expr* b);
  const Expr* floor_mod(const Expr* a, const Expr* b);
  const Expr* compared(Op op, const Expr* a, const Expr* b);

 private:
  const Expr* folded(Op op, const Expr* a, const Expr* b);
  // A folded constant, or nullptr and the arguments with a constant on the right:
  // (x op c) op d becomes x op (c op d).
  const Expr* commuted(Op op, const Expr*& a, const Expr*& b);
  const Expr* extreme(Op op, const Expr* a, const Expr* b);
  const Expr* logical(Op op, const Expr* a, const Expr* b);
  const Expr* selected(const Expr* condition, const Expr* a, const Expr* b);
  const Expr* looked_up(const Expr::Args& args);

  Interner<Expr> exprs_;
  const Expr* zero_;
  const Expr* one_;
};

// Maps expressions to expressions.
using ExprMap = std::unordered_map<const Expr*, const Expr*>;

}  // namespace npu::rewrite
