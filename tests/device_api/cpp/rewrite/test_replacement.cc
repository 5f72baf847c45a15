// A loop's variable replaced by a multiple of it and a number.
#include "made.h"
#include "rewrite/replacement.h"

namespace npu::rewrite::testing {
namespace {

const Test values("an expression has the value of another iteration", [] {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Maker make;
    Drawn drawn(make.nodes.exprs, seed);
    const Expr* expr = drawn.expr(4);
    const int64_t factor = drawn.between(-9, 9);
    const int64_t offset = drawn.between(-9, 9);
    const Expr* replaced = Replacement(make.nodes, 1, factor, offset).expr(expr);
    for (const int64_t one : {-3, 0, 4}) {
      CHECK_EQUAL(value_of(replaced, one, 5), value_of(expr, factor * one + offset, 5));
    }
  }
});

const Test operands("operands run from where the iteration is", [] {
  Maker make;
  const Expr* half = make.made(Op::kFloorDiv, make.var(1), make.number(2));
  const Expr* sum = make.plus(make.plus(make.times(16, make.var(1)), make.var(2)), half);
  const Operand* one = Replacement(make.nodes, 1, 0, 3).operand(make.operand(sum, 5));
  CHECK(one == make.operand(make.var(2), 5 + 48 + 1));
  const Operand* twice = Replacement(make.nodes, 1, 2, 1).operand(make.operand(sum, 5));
  CHECK_EQUAL(twice->base, 21u);
  CHECK_EQUAL(twice->steps[0].by, 32);
  CHECK_EQUAL(twice->general.size(), size_t{1});
});

const Test untouched("what does not run along the loop is the same object", [] {
  Maker make;
  const Node* inside = make.loop(2, 4, {make.load(make.times(16, make.var(2)))});
  const Body* body = make.body({inside, make.load(make.var(3))});
  CHECK(Replacement(make.nodes, 1, 2, 3).body(body) == body);
  // A loop that only a filter takes for this one.
  CHECK(Replacement(make.nodes, 1 + 64, 2, 3).body(make.body({make.load(make.var(1))})) ==
        make.body({make.load(make.var(1))}));
});

}  // namespace
}  // namespace npu::rewrite::testing
