// What is alike but for numbers has the same number.
#include <set>

#include "made.h"
#include "rewrite/shapes.h"

namespace npu::rewrite::testing {
namespace {

const Node* nest(Maker& make, uint32_t loop_id, int64_t row, int64_t extent = 4, int64_t by = 16) {
  const Expr* index = make.var(loop_id);
  const Node* load = make.load(make.plus(make.times(by, index), make.number(row)));
  const Node* asked = make.when(make.made(Op::kLe, index, make.number(2)), {load});
  return make.loop(loop_id, extent, {asked, make.load(make.number(row), make.times(by, index))});
}

const Test alike("bases and names of loops do not count", [] {
  Maker make;
  Shapes shapes(commands());
  CHECK_EQUAL(shapes.of(nest(make, 1, 0)).number, shapes.of(nest(make, 7, 48)).number);
});

const Test different("all else does", [] {
  Maker make;
  Shapes shapes(commands());
  const Operand* zero = make.operand(make.number(0));
  std::set<uint32_t> numbers;
  for (const Node* node : {nest(make, 1, 0), nest(make, 1, 0, 5), nest(make, 1, 0, 4, 8),
                           make.load(make.number(0)), make.command(3, zero, zero)}) {
    numbers.insert(shapes.of(node).number);
  }
  CHECK_EQUAL(numbers.size(), size_t{5});
});

const Test words("where rows are, and where nothing may advance", [] {
  Maker make;
  Shapes shapes(commands());
  const Shape shape = shapes.of(nest(make, 1, 32));
  CHECK_EQUAL(shape.size, 4);
  CHECK_EQUAL(shape.words.size(), size_t{4});
  CHECK_EQUAL(shape.words[1].base, 32u);
  CHECK_EQUAL(shape.words[1].rows->size(), size_t{1});
  const Operand* address = make.nodes.operand({0, 0, {}, {}});
  const Operand* zero = make.operand(make.number(0));
  CHECK(shapes.command(make.command(2, address, zero)).words[0].rows == nullptr);
  CHECK(shapes.command(make.command(0, address, zero)).words[0].rows->empty());
});

}  // namespace
}  // namespace npu::rewrite::testing
