// Short ways to make what programs are made of, and to read it again.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../check.h"
#include "rewrite/command_set.h"
#include "rewrite/conditions.h"
#include "rewrite/nodes.h"
#include "rewrite/parts.h"
#include "rewrite/ranges.h"

namespace npu::rewrite::testing {

using sim::testing::Test;

// Loads (2) whose second word begins with a row of 26 bits, settings (0), and commands of the
// device's steps (6).
inline const CommandSet& commands() {
  static const CommandSet set{{
      {0, 0, 0, true, false, false, {}},
      {2, 0, 0, false, false, false, {{}, {{0, 26}}}},
      {6, 0, 0, false, true, false, {{{0, 26}}, {{0, 26}}}},
  }};
  return set;
}

struct Maker {
  Nodes nodes;
  Places places{nodes.exprs};
  Decider decider{nodes, places};

  const Expr* number(int64_t value) { return nodes.exprs.constant(value); }
  const Expr* var(uint32_t loop_id) { return nodes.exprs.var(loop_id); }
  const Expr* made(Op op, const Expr* a, const Expr* b) { return nodes.exprs.made(op, {a, b}); }
  const Expr* times(int64_t by, const Expr* expr) { return nodes.exprs.mul(expr, number(by)); }
  const Expr* plus(const Expr* a, const Expr* b) { return nodes.exprs.add(a, b); }

  const Operand* operand(const Expr* expr, uint64_t base = 0) {
    OperandSum sum(base);
    sum.add(expr, 1);
    return nodes.operand(sum.made());
  }
  const Node* load(const Expr* row, const Expr* address = nullptr) {
    return command(2, operand(address == nullptr ? number(0) : address), operand(row));
  }
  const Node* command(uint8_t funct, const Operand* rs1, const Operand* rs2) {
    return nodes.command(funct, rs1, rs2);
  }
  const Body* body(std::vector<const Node*> parts) { return nodes.body(std::move(parts)); }
  const Node* loop(uint32_t loop_id, int64_t extent, std::vector<const Node*> parts) {
    return nodes.loop(loop_id, number(extent), body(std::move(parts)));
  }
  const Node* when(const Expr* condition, std::vector<const Node*> parts) {
    return nodes.loop(0, condition, body(std::move(parts)));
  }
};

// A long loop of tiles: copies under conditions between the pairs of steps of each.
inline const Body* tiles(Maker& make, int64_t questions) {
  const Expr* step = make.var(2);
  std::vector<const Node*> parts;
  for (int64_t k = 0; k < questions; ++k) {
    const Node* copy = make.load(make.number(16 * k), make.times(64, make.var(1)));
    parts.push_back(make.when(make.made(Op::kEq, step, make.number(k)), {copy}));
  }
  const Operand* rows = make.operand(make.plus(make.times(64, step), make.times(16, make.var(3))));
  const Node* first = make.command(6, rows, make.operand(make.var(3)));
  const Node* second = make.command(6, make.operand(step, 4096), rows);
  parts.push_back(make.loop(3, 2, {first, second}));
  return make.body({make.loop(1, 200, {make.loop(2, 7, parts)}), make.load(make.number(5))});
}

inline Parts parts_of(Maker& make, const Body* body) {
  return {make.nodes, make.places, make.decider, commands(), Options{}, body};
}

// The value of an expression for variables 1 and 2.
inline int64_t value_of(const Expr* expr, int64_t one, int64_t two) {
  if (expr->is_const()) return expr->value;
  if (expr->is_var()) return expr->loop_id() == 1 ? one : two;
  std::vector<int64_t> args;
  for (const Expr* arg : expr->args) args.push_back(value_of(arg, one, two));
  if (expr->op == Op::kTable) return args.at(static_cast<size_t>(args[0]) + 1);
  return sim::applied(expr->op, args[0], args[1], args.size() > 2 ? args[2] : 0);
}

// Expressions over variables 1 and 2, drawn by a seed.
class Drawn {
 public:
  Drawn(Exprs& exprs, uint64_t seed) : exprs_(exprs), state_(seed * 2 + 1) {}

  int64_t below(int64_t count) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(count));
  }
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }

  const Expr* expr(int depth) {
    const int64_t kind = below(depth == 0 ? 2 : 15);
    if (kind == 0) return exprs_.constant(between(-9, 9));
    if (kind == 1) return exprs_.var(static_cast<uint32_t>(between(1, 2)));
    const auto op = static_cast<Op>(kind);
    if (op == Op::kFloorDiv || op == Op::kFloorMod) {
      return exprs_.made(op, {expr(depth - 1), exprs_.constant(between(1, 5))});
    }
    if (op == Op::kSelect) {
      return exprs_.made(op, {expr(depth - 1), expr(depth - 1), expr(depth - 1)});
    }
    return exprs_.made(op, {expr(depth - 1), expr(depth - 1)});
  }

 private:
  Exprs& exprs_;
  uint64_t state_;
};

}  // namespace npu::rewrite::testing
