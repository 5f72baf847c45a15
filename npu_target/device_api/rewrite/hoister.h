// Sums made where they change least: what a loop does not change is added up outside of it, and a
// condition compares what the innermost loop changes with what it does not.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rewrite/nodes.h"
#include "rewrite/ranges.h"

namespace npu::rewrite {

// Expressions at one place of a program: inside of loops with these ids, outermost first.
class HoistedExprs {
 public:
  HoistedExprs(Nodes& nodes, std::vector<uint32_t> around, Ranges& ranges)
      : nodes_(nodes), exprs_(nodes.exprs), around_(std::move(around)), ranges_(ranges) {}

  // An expression with the same value.
  const Expr* expr(const Expr* expr);
  const Operand* operand(const Operand* operand);

 private:
  struct Term {
    Wide by;
    const Expr* expr;
    bool operator==(const Term& other) const { return by == other.by && expr == other.expr; }
  };
  // A number and multiples of expressions.
  struct Sum {
    Wide number;
    std::vector<Term> terms;
    Sum times(int64_t factor) const;
    Sum plus(int64_t more) const { return {number + more, terms}; }
  };

  const Expr* make(const Expr* expr);
  Sum sum_of(const Expr* expr);
  const Expr* total(const Sum& sum);
  const Expr* comparison(Op op, const Sum& sum);
  size_t depth(const Expr* expr);
  bool is_small(const Sum& sum);

  Nodes& nodes_;
  Exprs& exprs_;
  const std::vector<uint32_t> around_;
  Ranges& ranges_;
  ExprMap found_;
  std::unordered_map<const Expr*, size_t> depths_;
};

// Keeps what it made of nodes.
class Hoister {
 public:
  Hoister(Nodes& nodes, Places& places) : nodes_(nodes), places_(places) {}

  // The same commands, with fewer operations in the inner loops.
  const Body* hoisted(const Body* body) { return hoisted(body, {}, places_.loops({})); }

 private:
  struct Place {
    HoistedExprs exprs;
    std::unordered_map<const Node*, const Node*> made;
  };
  using Around = std::vector<uint32_t>;

  const Body* hoisted(const Body* body, const Around& around, const LoopRanges* loops);
  const Node* make(const Node* node, const Around& around, const LoopRanges* loops, Place& place);
  Place& place(const Around& around, const LoopRanges* loops);

  Nodes& nodes_;
  Places& places_;
  std::unordered_map<const LoopRanges*, std::map<Around, Place>> found_;  // does not move
};

}  // namespace npu::rewrite
