// Expressions and the checksum of program files.
#include <cstdint>
#include <limits>
#include <vector>

#include "check.h"
#include "sim/crc32.h"
#include "sim/expression.h"

namespace npu::sim::testing {
namespace {

int64_t evaluate(Op op, int64_t a, int64_t b) {
  ExprTable table;
  table.nodes.resize(3);
  table.nodes[0].op = Op::kConst;
  table.nodes[0].value = a;
  table.nodes[1].op = Op::kConst;
  table.nodes[1].value = b;
  table.nodes[2].op = op;
  table.nodes[2].inputs[1] = 1;
  table.prepare_root(2);
  std::vector<int64_t> scratch;
  return table.evaluate(2, {}, scratch);
}

const Test division("division rounds towards minus infinity", [] {
  const int64_t least = std::numeric_limits<int64_t>::min();
  CHECK_EQUAL(evaluate(Op::kFloorDiv, 7, 2), 3);
  CHECK_EQUAL(evaluate(Op::kFloorDiv, -7, 2), -4);
  CHECK_EQUAL(evaluate(Op::kFloorDiv, 7, -2), -4);
  CHECK_EQUAL(evaluate(Op::kFloorDiv, -8, 2), -4);
  CHECK_EQUAL(evaluate(Op::kFloorMod, -7, 2), 1);
  CHECK_EQUAL(evaluate(Op::kFloorMod, 7, -2), -1);
  CHECK_EQUAL(evaluate(Op::kFloorDiv, least, -1), least);
  CHECK_EQUAL(evaluate(Op::kFloorMod, least, -1), 0);
  CHECK_FAILS(kBadProgram, evaluate(Op::kFloorDiv, 1, 0));
  CHECK_FAILS(kBadProgram, evaluate(Op::kFloorMod, 1, 0));
});

const Test wrapping("arithmetic wraps", [] {
  const int64_t most = std::numeric_limits<int64_t>::max();
  CHECK_EQUAL(evaluate(Op::kAdd, most, 1), std::numeric_limits<int64_t>::min());
  CHECK_EQUAL(evaluate(Op::kMul, most, 2), -2);
});

const Test table("a table has the words it has, and no others", [] {
  ExprTable exprs;
  exprs.words = {1, -5, 7, 9};  // the first one is another table's
  exprs.nodes.resize(2);
  exprs.nodes[0].op = Op::kVar;
  exprs.nodes[1].op = Op::kTable;
  exprs.nodes[1].slot = 1;
  exprs.nodes[1].count = 2;
  exprs.prepare_root(1);
  std::vector<int64_t> scratch;
  CHECK_EQUAL(exprs.evaluate(1, {0}, scratch), -5);
  CHECK_EQUAL(exprs.evaluate(1, {1}, scratch), 7);
  CHECK_FAILS(kBadProgram, exprs.evaluate(1, {2}, scratch));
  CHECK_FAILS(kBadProgram, exprs.evaluate(1, {-1}, scratch));
});

const Test scratch("values of one evaluation are in nobody's way in the next", [] {
  ExprTable exprs;
  exprs.nodes.resize(4);
  exprs.nodes[0].op = Op::kVar;
  exprs.nodes[1].op = Op::kConst;
  exprs.nodes[1].value = 7;
  exprs.nodes[2] = {Op::kMul, 0, 0, {0, 1}};
  exprs.nodes[3] = {Op::kSub, 0, 0, {1, 2}};
  for (const uint32_t root : {1u, 2u, 3u}) exprs.prepare_root(root);
  std::vector<int64_t> scratch;
  for (int64_t i = -3; i < 3; ++i) {
    CHECK_EQUAL(exprs.evaluate(2, {i}, scratch), 7 * i);
    CHECK_EQUAL(exprs.evaluate(3, {i}, scratch), 7 - 7 * i);
    CHECK_EQUAL(exprs.evaluate(1, {i}, scratch), 7);
  }
});

const Test checksum("the checksum is zlib's", [] { CHECK_EQUAL(crc32("123456789"), 0xCBF43926u); });

}  // namespace
}  // namespace npu::sim::testing
