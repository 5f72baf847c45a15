// Expressions are made in their simplest forms, and once.
#include "made.h"

namespace npu::rewrite::testing {
namespace {

const Test once("equal expressions are one object", [] {
  Maker make;
  CHECK(make.plus(make.var(1), make.number(2)) == make.plus(make.number(2), make.var(1)));
  CHECK(make.var(1) != make.var(2));
});

const Test folding("what is known is folded", [] {
  Maker make;
  Exprs& exprs = make.nodes.exprs;
  const Expr* x = make.var(1);
  CHECK(exprs.add(exprs.add(x, make.number(2)), make.number(-2)) == x);
  CHECK(exprs.mul(exprs.mul(x, make.number(2)), make.number(3)) == exprs.mul(x, make.number(6)));
  CHECK(exprs.sub(x, x) == exprs.zero());
  CHECK(exprs.mul(x, exprs.zero()) == exprs.zero());
  CHECK(exprs.floor_div(x, make.number(1)) == x);
  CHECK(exprs.floor_mod(x, make.number(1)) == exprs.zero());
  CHECK(exprs.made(Op::kMin, {x, x}) == x);
  CHECK(exprs.made(Op::kLe, {x, x}) == make.number(1));
  CHECK(exprs.made(Op::kLt, {x, x}) == exprs.zero());
  const Expr* asked = make.made(Op::kLt, x, make.number(3));
  CHECK(exprs.made(Op::kAnd, {asked, make.number(7)}) == asked);
  CHECK(exprs.made(Op::kAnd, {asked, exprs.zero()}) == exprs.zero());
  CHECK(exprs.made(Op::kOr, {asked, make.number(7)}) == make.number(1));
  CHECK(exprs.made(Op::kSelect, {make.number(5), x, asked}) == x);
  CHECK(exprs.made(Op::kTable, {make.number(1), make.number(7), make.number(9)}) == make.number(9));
  CHECK(exprs.made(Op::kTable, {x, make.number(7), make.number(7)}) == make.number(7));
  const Expr* beyond = exprs.made(Op::kTable, {make.number(2), make.number(7), make.number(9)});
  CHECK(beyond->op == Op::kTable);
});

const Test wrapping("numbers wrap around", [] {
  Maker make;
  const Expr* most = make.number(kInt64Max);
  CHECK(make.plus(most, make.number(1)) == make.number(kInt64Min));
  CHECK(make.nodes.exprs.sub(make.var(1), make.number(kInt64Min)) ==
        make.plus(make.var(1), make.number(kInt64Min)));
});

const Test division("a division by zero is an error", [] {
  Maker make;
  CHECK_FAILS(kBadProgram, make.made(Op::kFloorDiv, make.var(1), make.number(0)));
  CHECK_FAILS(kBadProgram, make.made(Op::kFloorMod, make.var(1), make.number(0)));
});

const Test sums("operands are sums of steps, terms and a number", [] {
  Maker make;
  Exprs& exprs = make.nodes.exprs;
  const Expr* third = make.made(Op::kFloorDiv, make.var(2), make.number(3));
  const Expr* sum = exprs.sub(make.plus(make.times(16, make.var(1)), make.number(5)),
                              make.plus(make.times(2, third), make.times(16, make.var(2))));
  const Operand* word = make.operand(sum, 3);
  CHECK_EQUAL(word->base, 8u);
  CHECK_EQUAL(word->steps.size(), size_t{2});
  CHECK_EQUAL(word->steps[1].by, -16);
  CHECK_EQUAL(word->general.size(), size_t{1});
  CHECK_EQUAL(word->general[0].by, -2);
  CHECK(make.operand(exprs.sub(sum, sum)) == make.operand(exprs.zero()));
});

}  // namespace
}  // namespace npu::rewrite::testing
