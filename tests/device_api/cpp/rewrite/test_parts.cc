// A body with changes one after the other: what is kept of one is what another would make.
#include "made.h"
#include "rewrite/budget.h"
#include "rewrite/parts.h"

namespace npu::rewrite::testing {
namespace {

const Test kept("what is kept is what would be made", [] {
  Maker make;
  const Body* body = tiles(make, 4);
  Parts parts = parts_of(make, body);
  Drawn drawn(make.nodes.exprs, 7);
  Change change;
  for (int i = 0; i < 20; ++i) {
    const auto loop_id = static_cast<uint32_t>(drawn.between(1, 3));
    const int64_t joined = drawn.below(4) * 2 - 1;
    change = joined > 0 ? change.joining(loop_id, joined) : change.cutting(loop_id);
    CHECK(parts.changed(change) == parts_of(make, body).changed(change));
    const Change alone{{}, change.joined};
    CHECK(parts.changed(alone) == parts_of(make, body).changed(alone));
  }
});

const Test joined("what is joined already is told", [] {
  Maker make;
  Parts parts = parts_of(make, tiles(make, 0));
  // By itself the loop of a row is unrolled, that of seven steps is not.
  CHECK(parts.is_joined({}, 2, 1));
  CHECK(!parts.is_joined({}, 2, 7));
  for (const int64_t iterations : {1, 2, 7}) {
    const Change change = Change{}.joining(2, iterations);
    CHECK(parts.is_joined(change, 2, iterations));
    CHECK_EQUAL(parts.changed(change) == parts.changed({}), parts.is_joined({}, 2, iterations));
  }
});

const Test chosen("conditions around the device's steps are decided where that is asked for", [] {
  Maker make;
  Parts parts = parts_of(make, tiles(make, 1));
  const auto questions = [](const Body* body) {
    int count = 0;
    for_each_node(*body, [&](const Node& node) { count += node.is_condition(); });
    return count;
  };
  CHECK_EQUAL(questions(parts.changed({})), 1);
  CHECK_EQUAL(questions(parts.changed(Change{}.cutting(2))), 0);
  CHECK_EQUAL(questions(parts.changed(Change{}.cutting(1))), 1);
});

const Test change("a change is that of the loops it names", [] {
  const Change change = Change{}.cutting(1).joining(2, 4).joining(2, 8).joining(3, 1);
  const auto is_same = [](const Change& a, const Change& b) { return !(a < b) && !(b < a); };
  CHECK(is_same(change.of({1, 3}), Change{}.cutting(1).joining(3, 1)));
  CHECK(is_same(change.of({2}), Change{}.joining(2, 8)));
  CHECK(is_same(change.of({}), Change{}));
});

// By a model of the host to which a node is 4 bytes, and so many instructions less.
const Test worth("loops are unrolled where that is worth their code", [] {
  struct Case {
    uint64_t saved_by_a_node;
    double fetch_cycles;
    bool is_unrolled;
  };
  for (const Case& one : {Case{0, 49.0 / 64, false}, Case{4, 49.0 / 64, true}, Case{0, 0, true}}) {
    Maker make;
    std::vector<const Node*> row;
    for (int64_t k = 0; k < 2; ++k) {
      row.push_back(make.load(make.plus(make.times(16, make.var(3)), make.number(4096 * k))));
    }
    const Node* last = make.load(make.number(0), make.times(64, make.var(1)));
    const Body* body = make.body({make.loop(1, 40, {make.loop(3, 8, row), last})});
    Parts parts = parts_of(make, body);
    const auto demand = [&](const Body* made) {
      uint64_t nodes = 0;
      for_each_node(*made, [&](const Node&) { ++nodes; });
      return sim::HostDemand{1000 - one.saved_by_a_node * nodes, 1000, 4 * nodes, 0};
    };
    const Body* unrolled = parts.changed({});
    CHECK(unrolled != body);
    const Body* found = within_budget(unrolled, parts, {demand, one.fetch_cycles});
    CHECK(found == (one.is_unrolled ? unrolled : body));
  }
});

}  // namespace
}  // namespace npu::rewrite::testing
