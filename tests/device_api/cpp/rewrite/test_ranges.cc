// Ranges of expressions, and expressions that they make simpler.
#include "made.h"

namespace npu::rewrite::testing {
namespace {

const Test values("what is simplified has the same value, within the range", [] {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Maker make;
    Drawn drawn(make.nodes.exprs, seed);
    const Expr* expr = drawn.expr(4);
    const int64_t first = drawn.between(-9, 9);
    const int64_t second = drawn.between(-9, 9);
    LoopRanges loops = LoopRanges{}.with(2, {second, second + drawn.below(5)});
    loops = loops.with(1, {first, first + drawn.below(5)});
    Ranges ranges(make.nodes.exprs, loops);
    const Expr* simpler = ranges.simplified(expr);
    const Range range = ranges.of(expr);
    for (int64_t one = loops.of(1).least; one <= loops.of(1).greatest; ++one) {
      for (int64_t two = loops.of(2).least; two <= loops.of(2).greatest; ++two) {
        const int64_t value = value_of(expr, one, two);
        CHECK_EQUAL(value_of(simpler, one, two), value);
        CHECK(range.least <= value && value <= range.greatest);
      }
    }
  }
});

const Test unknown("of other variables nothing is known", [] {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Maker make;
    Drawn drawn(make.nodes.exprs, seed);
    const Expr* expr = drawn.expr(3);
    Ranges ranges(make.nodes.exprs, LoopRanges{}.with(1, {-2, 2}));
    for (const int64_t two : {kInt64Min, int64_t{-5}, int64_t{0}, int64_t{7}, kInt64Max}) {
      CHECK_EQUAL(value_of(ranges.simplified(expr), 1, two), value_of(expr, 1, two));
    }
  }
});

const Test examples("comparisons, limits and remainders that loops decide", [] {
  Maker make;
  const Expr* a = make.var(1);
  const Expr* b = make.var(2);
  const Expr* zero = make.number(0);
  Ranges ranges(make.nodes.exprs, LoopRanges{}.with(1, {0, 5}).with(2, {0, 50}));
  const auto simplified = [&](Op op, const Expr* x, const Expr* y) {
    return ranges.simplified(make.made(op, x, y));
  };
  CHECK(simplified(Op::kLe, zero, a) == make.number(1));
  CHECK(simplified(Op::kLt, a, zero) == zero);
  const Expr* above = make.plus(make.plus(make.times(8, b), a), make.number(-1));
  CHECK(simplified(Op::kLe, zero, above) == make.made(Op::kLe, zero, above));
  CHECK(simplified(Op::kMin, a, make.number(5)) == a);
  CHECK(simplified(Op::kFloorMod, a, make.number(8)) == a);
  const Expr* few = make.made(Op::kLe, a, make.number(2));
  CHECK(simplified(Op::kEq, few, zero) == make.made(Op::kLt, make.number(2), a));
});

const Test loops("ranges of loops are in order, each once", [] {
  const LoopRanges both = LoopRanges{}.with(7, {0, 1}).with(3, {0, 2});
  CHECK(both == LoopRanges{}.with(3, {0, 9}).with(7, {0, 1}).with(3, {0, 2}));
  CHECK(both.without(7) == LoopRanges{}.with(3, {0, 2}));
  CHECK(both.of(3) == (Range{0, 2}));
  CHECK(both.of(4) == Range{});
});

}  // namespace
}  // namespace npu::rewrite::testing
