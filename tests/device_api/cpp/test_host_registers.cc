// What it takes the host where there are more values than registers: counted by hand.
#include <cstdint>
#include <utility>
#include <vector>

#include "check.h"
#include "code_maker.h"
#include "sim/host_code.h"
#include "sim/program.h"

namespace npu::sim::testing {
namespace {

const Test calls("host code: a call, and the registers that it has to keep", [] {
  Maker maker;
  const auto called = [&](uint64_t words) {
    std::vector<Node> body;
    for (uint64_t i = 0; i < words; ++i) body.push_back(command(word(0x10000 * (i + 1))));
    const HostCode code = maker.code({maker.loop(0, 4, std::move(body))});
    return Counts({code.call, code.back});
  };
  // Two addresses and the jump; beside the words there is the loop's counter.
  CHECK(called(14) == Counts({5, 1}));
  CHECK(called(15) == Counts({5 + 2, 1 + 2}));
  CHECK(called(18) == Counts({5 + 5, 1 + 5}));
});

const Test registers("host code: what has no register is loaded and stored around its use", [] {
  // Two constants, a running register and the end: 4 registers.
  const auto body = [](Maker& maker) {
    return std::vector<Node>{
        maker.loop(0, 4, {command(word(0x100), word(0x200)), command(word(1, {{0, 16}}))})};
  };
  Maker enough(4);
  CHECK(enough.steps(body(enough)) == Counts({4, 1, 1, 2}));
  Maker few(3);  // one constant is loaded where it is used, and was stored before
  CHECK(few.steps(body(few)) == Counts({5, 1 + 1, 1, 2}));
  Maker fewer(1);  // both, and the end, which is compared with once
  CHECK(fewer.steps(body(fewer)) == Counts({7, 1 + 2, 1, 2 + 1}));
  // The one that is used least goes first, and is loaded for each use.
  const auto often = [](Maker& maker) {
    return std::vector<Node>{
        maker.loop(0, 4,
                   {command(word(0x100), word(0x200)), command(word(0x100), word(0x300)),
                    command(word(0x300), word(1, {{0, 16}}))})};
  };
  Maker four(4);
  CHECK(four.steps(often(four)) == Counts({6, 1 + 1, 1, 1, 2}));
  // What only an outer loop uses goes first: its iterations pay.
  const auto nest = [](Maker& maker) {
    return std::vector<Node>{maker.loop(
        0, 3, {command(word(7, {{0, 8}})), maker.loop(1, 4, {command(word(1, {{1, 16}}))})})};
  };
  Maker both(4);
  CHECK(both.steps(nest(both)) == Counts({3, 1, 1, 1, 2, 3}));
  Maker one(3);
  CHECK(one.steps(nest(one)) == Counts({3 + 1, 1, 1, 1, 2, 3 + 1}));
  // What one inner loop uses lives on in the other, or is loaded before its own.
  const auto inside = [](Maker& maker) {
    return std::vector<Node>{
        maker.loop(0, 3,
                   {maker.loop(1, 4, {command(word(0x100, {{1, 16}}), word(0x200))}),
                    maker.loop(2, 4, {command(word(0x300, {{2, 32}}), word(0x400))})})};
  };
  Maker room(6);
  Counts expected = room.steps(inside(room));
  Maker less(5);
  expected[0] += 2;  // stored
  expected[1] += 1;  // loaded at the inner loops' entries
  expected[4] += 1;
  CHECK(less.steps(inside(less)) == expected);
});

const Test beginnings(
    "host code: a register holds where it begins as long as others are made before the loop", [] {
      const auto entry = [](uint64_t other, std::vector<Operand::Step> steps) {
        Maker maker;
        return maker.steps({maker.loop(
            0, 4, {command(word(0x12345678, {{0, 8}}), word(other, std::move(steps)))})})[0];
      };
      // Two for the first, an addition for the other one and for the end.
      CHECK_EQUAL(entry(0x12345688, {{0, 32}}), 2u + 1 + 1);
      CHECK_EQUAL(entry(0x12345688, {}), 2u + 1 + 1);
      // A copy where both begin alike; anew where it is far.
      CHECK_EQUAL(entry(0x12345678, {{0, 32}}), 2u + 1 + 1);
      CHECK_EQUAL(entry(0x7654321, {{0, 32}}), 2u + 2 + 1);
    });

const Test sections(
    "host code: what one long loop of several needs is made before it each time", [] {
      // 0x100 is the first loop's alone, 0x200 both need, the second one's register runs on from
      // 0x300.
      const auto nest = [](Maker& maker, int64_t extent) {
        return std::vector<Node>{
            maker.loop(0, 3,
                       {maker.loop(1, extent, {command(word(0x100), word(0x200))}),
                        maker.loop(1, extent, {command(word(0x300, {{1, 8}}), word(0x200))})})};
      };
      Maker few(64);  // commands: all is made before the outermost loop, and the register goes back
      CHECK(few.steps(nest(few, 127)) == Counts({1 + 3, 1, 1, 2, 1, 1, 1 + 1, 2 + 1}));
      Maker many(64);
      CHECK(many.steps(nest(many, 128)) == Counts({1 + 1, 1 + 1, 1, 2, 1 + 1, 1, 1 + 1, 2}));
      // A loop that is all that is in another one is none.
      Maker alone(64);
      const std::vector<Node> inner{alone.loop(1, 128, {command(word(0x100), word(0x200))})};
      CHECK(alone.steps({alone.loop(0, 3, inner)}) == Counts({1 + 2, 1, 1, 2, 2}));
    });

}  // namespace
}  // namespace npu::sim::testing
