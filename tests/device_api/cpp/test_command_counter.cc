// How often commands run, told from loops, against going through them.
#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "check.h"
#include "code_maker.h"
#include "sim/command_counter.h"

namespace npu::sim::testing {
namespace {

struct Found {
  double times;
  double sure;
  uint64_t middle;  // of the first word
};

class Counter : public CommandCounter {
 public:
  explicit Counter(const Program& program) : CommandCounter(program) { count(); }
  std::vector<Found> found;
  std::vector<uint32_t> told;  // loops that begin
  int inside = 0;

 private:
  void command(const Node& node, double times, double sure) override {
    found.push_back({times, sure, middle(node.rs1)});
  }
  bool begin(const Node& loop) override {
    CHECK_EQUAL(inside, 0);
    told.push_back(loop.slot);
    if (loop.slot == 0) return false;
    ++inside;
    return true;
  }
  void end() override { --inside; }
};

constexpr int64_t kOuter = 5;
constexpr int64_t kInner = 4;

// A command in two loops, and in a third one of this extent.
Counter counted(Maker& maker, uint32_t extent) {
  return Counter(maker.program({maker.loop(
      0, kOuter, {maker.loop(1, kInner, {Maker::loop_of(2, extent, {command(word(0))})})})}));
}

// Small numbers, which do not wrap.
class Drawn {
 public:
  Drawn(Maker& maker, uint32_t seed) : maker_(maker), random_(seed) {}

  uint32_t expr(int depth) {
    const uint32_t kind = draw(depth == 0 ? 2 : 14);
    if (kind == 0) return maker_.number(static_cast<int64_t>(draw(19)) - 9);
    if (kind == 1) return draw(2);  // a variable
    const Op op = static_cast<Op>(kind);
    if (op == Op::kFloorDiv || op == Op::kFloorMod) {
      return maker_.apply(op, expr(depth - 1), maker_.number(draw(5) + 1));
    }
    return maker_.apply(op, expr(depth - 1), expr(depth - 1));
  }

 private:
  uint32_t draw(uint32_t count) { return random_() % count; }
  Maker& maker_;
  std::minstd_rand random_;
};

const Test mean("command counter: an extent is the mean of all iterations", [] {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    Maker maker;
    const uint32_t extent = Drawn(maker, seed).expr(3);
    const Program program = maker.program({});
    std::vector<int64_t> variables(program.slot_count);
    std::vector<int64_t> scratch;
    int64_t expected = 0;
    for (variables[0] = 0; variables[0] < kOuter; ++variables[0]) {
      for (variables[1] = 0; variables[1] < kInner; ++variables[1]) {
        expected += std::max<int64_t>(0, program.exprs.evaluate(extent, variables, scratch));
      }
    }
    CHECK_EQUAL(counted(maker, extent).found.at(0).times, static_cast<double>(expected));
  }
});

const Test share("command counter: comparisons hold in a share of the iterations", [] {
  for (const Op op : {Op::kLt, Op::kLe, Op::kEq}) {
    for (int64_t number = -2; number <= kOuter + 2; ++number) {
      for (const bool is_first : {true, false}) {
        Maker maker;
        const uint32_t other = maker.number(number);
        const uint32_t condition = maker.apply(op, is_first ? 0 : other, is_first ? other : 0);
        int64_t expected = 0;
        for (int64_t i = 0; i < kOuter; ++i) {
          expected += kInner * applied(op, is_first ? i : number, is_first ? number : i, 0);
        }
        const Found found = counted(maker, condition).found.at(0);
        CHECK_EQUAL(found.times, static_cast<double>(expected));
      }
    }
  }
});

const Test unknown("command counter: what is not known runs once, and is not sure", [] {
  Maker maker;
  // The extent of loop 1 is fixed, but of too many iterations to look at each.
  const uint32_t odd = maker.apply(Op::kFloorMod, 1, maker.number(2));
  const Program program = maker.program(
      {maker.loop(
           1, 5000,
           {Maker::loop_of(2, odd, {command(word(0)), Maker::loop_of(3, 2, {command(word(0))})})}),
       maker.loop(1, 6, {Maker::loop_of(2, odd, {command(word(0))})}),
       maker.loop(1, -3, {command(word(0))})});
  const Counter counter(program);
  CHECK_EQUAL(counter.found.size(), size_t{4});
  CHECK_EQUAL(counter.found[0].times, 5000.0);
  CHECK_EQUAL(counter.found[0].sure, 0.0);
  CHECK_EQUAL(counter.found[1].times, 5000.0);
  CHECK_EQUAL(counter.found[2].times, 3.0);
  CHECK_EQUAL(counter.found[2].sure, 3.0);
  CHECK_EQUAL(counter.found[3].times, 0.0);
  CHECK_EQUAL(counter.iterations(), 5000.0 + 5000 + 5000 + 6 + 3);
});

const Test beyond("command counter: an iteration may ask for what there is not", [] {
  Maker maker;
  const uint32_t beyond = maker.entry(0, {1, 1, 1});  // of the first three iterations of five
  CHECK_EQUAL(counted(maker, beyond).found.at(0).times, double{kOuter * kInner});
});

const Test middle("command counter: words are as in the middle of their loops", [] {
  Maker maker;
  const Program program = maker.program({maker.loop(
      0, 7,
      {Maker::loop_of(1, 0,
                      {maker.loop(2, 4, {command(word(100, {{0, 10}, {1, 5}, {2, 1}}))})})})});
  CHECK_EQUAL(Counter(program).found.at(0).middle, uint64_t{100 + 30 + 1});
});

const Test outermost("command counter: the outermost loop that tells something is asked", [] {
  Maker maker;
  const Counter counter = counted(maker, maker.number(2));
  CHECK(counter.told == (std::vector<uint32_t>{0, 1}));
  CHECK_EQUAL(counter.inside, 0);
});

}  // namespace
}  // namespace npu::sim::testing
