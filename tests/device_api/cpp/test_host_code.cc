// How many instructions the host's code of a program has: counted by hand, a rule a test.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "code_maker.h"
#include "sim/host_code.h"
#include "sim/load_immediate.h"
#include "sim/program.h"

namespace npu::sim::testing {
namespace {

const Test immediates("host code: constants as the assembler makes them", [] {
  CHECK_EQUAL(load_immediate_instructions(0), 0);
  CHECK_EQUAL(load_immediate_instructions(2047), 1);                // addi
  CHECK_EQUAL(load_immediate_instructions(uint64_t(-2048)), 1);     // addi
  CHECK_EQUAL(load_immediate_instructions(2048), 2);                // li 1, slli
  CHECK_EQUAL(load_immediate_instructions(0x12345000), 1);          // lui
  CHECK_EQUAL(load_immediate_instructions(0x12345678), 2);          // lui, addi
  CHECK_EQUAL(load_immediate_instructions(0xFFFFFFFF), 3);          // li 1, slli, addi
  CHECK_EQUAL(load_immediate_instructions(0x80000000), 2);          // li 1, slli
  CHECK_EQUAL(load_immediate_instructions(0x0010001000000000), 3);  // lui, addi, slli
  CHECK_EQUAL(load_immediate_instructions(0x00100010FFFFFFFF), 4);  // lui, addi, slli, addi
  CHECK_EQUAL(load_immediate_instructions(0xDEADBEEFCAFEBABE), 8);
});

const Test straight("host code: outside of loops, words are made from the nearest one", [] {
  Maker maker;
  // 0 is in a register always; 0x12345678 takes two instructions and stays.
  CHECK(maker.steps({command(word(0)), command(word(0x12345678)), command(word(0x12345678))}) ==
        Counts({1, 3, 1}));
  // 5 more, and 8 less than that: an addition each. Equal to the first: nothing.
  CHECK(maker.steps({command(word(0x12345678)), command(word(0x1234567D), word(0x12345675)),
                     command(word(0x12345678))}) == Counts({3, 3, 1}));
  // Far from a constant of four instructions, by what one LUI makes: that and an addition.
  CHECK(maker.steps({command(word(0x00100010FFFFFFFF)), command(word(0x00100011000FFFFF))}) ==
        Counts({5, 3}));
  // Arguments come in registers; 4096 is one LUI.
  CHECK(maker.steps({command(word(0, {}, 0)), command(word(8, {}, 0)),
                     command(word(4096, {}, 1))}) == Counts({1, 2, 3}));
});

const Test shifted_addresses("host code: an address in units is a shift, in a field another", [] {
  Maker maker;
  const int32_t in_units = maker.shifted({0, 4, 0});
  const int32_t in_a_field = maker.shifted({0, 4, 26});
  CHECK(maker.steps({command(word(0, {}, in_units)), command(word(0, {}, in_units))}) ==
        Counts({2, 1}));
  CHECK(maker.steps({command(word(0, {}, in_a_field)), command(word(5, {}, in_a_field))}) ==
        Counts({3, 2}));
});

const Test loop("host code: a loop ends where a running register does", [] {
  Maker maker;
  // Before it: the start, and where it ends. In it: the command, the addition, the branch.
  CHECK(maker.steps({maker.loop(0, 4, {command(word(32, {{0, 16}}))})}) == Counts({2, 1, 2}));
  // The increment needs a register of its own, and so does the distance to the end.
  CHECK(maker.steps({maker.loop(0, 4, {command(word(32, {{0, 0x12345}}))})}) ==
        Counts({2 + 2 + 2, 1, 2}));
  // Nothing runs: a counter. What is constant is made before.
  CHECK(maker.steps({maker.loop(0, 4, {command(word(32))})}) == Counts({2, 1, 2}));
});

const Test no_loop("host code: one iteration is straight-line code, none is nothing", [] {
  Maker maker;
  CHECK(maker.steps({maker.loop(0, 1, {command(word(32, {{0, 16}}))})}) == Counts({0, 2, 0}));
  CHECK(maker.steps({maker.loop(0, 0, {command(word(32, {{0, 16}}))})}) == Counts({0, 0, 0}));
});

const Test nests("host code: outer loops advance by what inner ones have not", [] {
  Maker maker;
  const auto nest = [&](uint64_t outer) {
    return maker.steps(
        {maker.loop(0, 3, {maker.loop(1, 4, {command(word(0x100, {{0, outer}, {1, 16}}))})})});
  };
  CHECK(nest(64) == Counts({2, 1, 1, 2, 1}));   // goes on where the inner loop has ended
  CHECK(nest(100) == Counts({2, 1, 1, 2, 2}));  // 36 more
  // It does not run with the outer loop: it goes back, and the outer loop needs a counter.
  CHECK(nest(0) == Counts({2, 1, 1, 2, 3}));
  // It does not run with the inner loop: no addition there, but a counter.
  CHECK(maker.steps({maker.loop(0, 3, {maker.loop(1, 4, {command(word(0x100, {{0, 8}}))})})}) ==
        Counts({2, 1, 1, 2, 2}));
  // Not with the middle one: what the innermost has run is taken back at its end.
  CHECK(
      maker.steps({maker.loop(
          0, 3, {maker.loop(1, 2, {maker.loop(2, 4, {command(word(1, {{0, 64}, {2, 16}}))})})})}) ==
      Counts({2, 1, 1, 1, 2, 3, 2}));
});

const Test families("host code: operands a constant apart are derived from each other", [] {
  Maker maker;
  const auto body = [&](std::vector<uint64_t> bases, uint64_t step) {
    std::vector<Node> commands;
    for (const uint64_t base : bases) commands.push_back(command(word(base, {{0, step}})));
    return maker.steps({maker.loop(0, 4, std::move(commands))});
  };
  CHECK(body({32, 32}, 64) == Counts({2, 1, 1, 2}));         // the same register
  CHECK(body({32, 48}, 64) == Counts({2, 1, 2, 2}));         // 16 on, then 48
  CHECK(body({32, 48}, 16) == Counts({2, 1, 2, 1}));         // 16 on, and there it begins anew
  CHECK(body({32, 48, 32}, 16) == Counts({2, 1, 2, 1, 2}));  // comes back: a second register
  // Two words of one command need a register each.
  CHECK(maker.steps({maker.loop(0, 4, {command(word(32, {{0, 16}}), word(48, {{0, 16}}))})}) ==
        Counts({2, 2, 2}));
  // Two loops of an outer one: the register goes from the first one's value to the second one's.
  const auto inner = [&](uint32_t slot, uint64_t base) {
    return maker.loop(slot, 4, {command(word(base, {{0, 64}}))});
  };
  CHECK(maker.steps({maker.loop(0, 3, {inner(1, 0x100), inner(2, 0x108)})}) ==
        Counts({2, 1, 1, 2, 2, 1, 2, 2}));
});

const Test branches("host code: conditions and extents that are not constant", [] {
  Maker maker;
  const uint32_t first = maker.apply(Op::kEq, 0, maker.number(0));
  // A branch that compares the loop's variable, which is therefore counted (2); the command.
  // Before: two numbers for the counter, the constant.
  CHECK(maker.steps({maker.loop(0, 4, {Maker::loop_of(1, first, {command(word(8))})})}) ==
        Counts({3, 1, 1, 0, 2}));
  // Compared with a number: that is in a register.
  const uint32_t early = maker.apply(Op::kLe, 0, maker.number(2));
  CHECK(maker.steps({maker.loop(0, 4, {Maker::loop_of(1, early, {command(word(8))})})}) ==
        Counts({4, 1, 1, 0, 2}));
  // Two that are joined: a branch each, but where the first decides.
  const uint32_t late = maker.apply(Op::kLt, maker.number(1), 0);
  const uint32_t both = maker.apply(Op::kAnd, early, late);
  CHECK(maker.steps({maker.loop(0, 4, {Maker::loop_of(1, both, {command(word(8))})})}) ==
        Counts({5, 2, 1, 0, 2}));
  const uint32_t needless = maker.apply(Op::kAnd, first, early);
  CHECK(maker.steps({maker.loop(0, 4, {Maker::loop_of(1, needless, {command(word(8))})})}) ==
        Counts({4, 1, 1, 0, 2}));
  // The opposite is the same branch, the other way.
  const uint32_t later = maker.apply(Op::kEq, early, maker.number(0));
  CHECK(maker.steps({maker.loop(0, 4, {Maker::loop_of(1, later, {command(word(8))})})}) ==
        Counts({4, 1, 1, 0, 2}));
  // Anything else takes its operations, too.
  const uint32_t shifted = maker.apply(Op::kEq, maker.apply(Op::kSub, 0, first), maker.number(0));
  CHECK(maker.steps({maker.loop(0, 4, {Maker::loop_of(1, shifted, {command(word(8))})})}) ==
        Counts({3, 3, 1, 0, 2}));
  const uint32_t rest = maker.apply(Op::kSub, maker.number(7), 0);
  // 7 is in a register. The inner extent: an operation, a branch if it is none, two for counting; a
  // copy of the outer operand, which runs (1) in the loop beside the counter (2). The outer one:
  // counter, addition.
  CHECK(maker.steps(
            {maker.loop(0, 4, {Maker::loop_of(1, rest, {command(word(8, {{0, 32}, {1, 4}}))})})}) ==
        Counts({3 + 1, 1 + 2 + 1, 1, 3, 3}));
});

const Test joined("host code: a branch that those before have decided is none", [] {
  Maker maker;
  const uint32_t first = maker.apply(Op::kEq, 0, maker.number(0));
  const uint32_t early = maker.apply(Op::kLe, 0, maker.number(2));
  const uint32_t later = maker.apply(Op::kEq, early, maker.number(0));
  const auto condition = [](uint32_t extent, std::vector<Node> body) {
    return Maker::loop_of(1, extent, std::move(body));
  };
  const std::vector<Node> one = {command(word(8))};
  // The same again, the opposite: nothing.
  CHECK(maker.steps({maker.loop(0, 4,
                                {condition(early, one), command(word(8)), condition(later, one),
                                 condition(early, one)})}) ==
        Counts({4, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 2}));
  // The second is asked of 3 of 4 iterations, of them one after a loop as well.
  CHECK(maker.steps({maker.loop(0, 4, {condition(first, one), condition(early, one)})}) ==
        Counts({4, 1, 1, 0, 1, 1, 0, 2}));
  const auto inner = [&] { return maker.loop(2, 2, one); };
  CHECK(maker.steps({maker.loop(0, 4, {condition(early, one), inner(), condition(early, one)})}) ==
        Counts({4, 1, 1, 0, 1, 1, 2, 1, 1, 0, 2}));
  // Of two variables: the inner one's is asked where the outer one's holds.
  const uint32_t inside = maker.apply(Op::kAnd, maker.apply(Op::kLe, 2, maker.number(0)), first);
  CHECK(maker.steps({maker.loop(2, 4, {maker.loop(0, 4, {condition(inside, one)})})}) ==
        Counts({3, 2, 1, 1, 0, 2, 2}));
});

const Test sunk("host code: what only a condition needs is made there", [] {
  Maker maker;
  const uint32_t first = maker.apply(Op::kEq, 0, maker.number(0));
  const auto condition = [&](std::vector<Node> body) {
    return Maker::loop_of(1, first, std::move(body));
  };
  const std::vector<Operand::Step> steps = {{0, 64}};
  const Node near = command(word(0, steps));
  const Node far = command(word(16, steps));
  CHECK(maker.steps({maker.loop(0, 4, {near, condition({far, far})})}) ==
        Counts({3, 1, 1, 2, 1, 0, 3}));
  // Two need it, or a loop in the condition: before that.
  CHECK(maker.steps({maker.loop(0, 4, {near, condition({far}), far})}) ==
        Counts({3, 1, 2, 1, 0, 1, 3}));
  CHECK(maker.steps({maker.loop(0, 4, {near, condition({maker.loop(2, 2, {far})})})}) ==
        Counts({3, 1, 1, 2, 1, 2, 0, 3}));
});

const Test tables("host code: a word of a table is a shift, an addition and a load", [] {
  Maker maker;
  const uint32_t entry = maker.entry(0, {5, 6, 7, 8});
  // With the command they are 4. The loop counts; before it the counter, where it ends, and where
  // the table lies.
  CHECK(maker.steps({maker.loop(0, 4, {command(general(word(0), 1, entry))})}) ==
        Counts({2 + 2, 4, 2}));
});

const Test expressions("host code: operations stand in the loop of their innermost variable", [] {
  Maker maker;
  const uint32_t outer = maker.apply(Op::kMin, 0, maker.number(2));
  const uint32_t inner = maker.apply(Op::kMul, outer, 1);
  // min in the outer loop, a branch and a move; the product, times 8, plus 100 at the command. Both
  // loops count. The constants are made before, once.
  CHECK(maker.steps(
            {maker.loop(0, 3, {maker.loop(1, 4, {command(general(word(100), 8, inner))})})}) ==
        Counts({2 + 1 + 1, 2 + 2, 1 + 1 + 2, 2, 2}));
  // Of the outer variable only: minimum, multiplication and addition at the inner loop's entry.
  CHECK(maker.steps({maker.loop(
            0, 3, {maker.loop(1, 4, {command(general(word(100, {{1, 16}}), 8, outer))})})}) ==
        Counts({2 + 1 + 1, 4 + 1, 1, 2, 2}));
  // 7 is no shift: it needs a register.
  CHECK(maker.steps({maker.loop(0, 3, {command(general(word(0), 7, 0))})}) ==
        Counts({2 + 1, 1 + 1, 2}));
});

const Test bytes("host code: bytes in loops and outside", [] {
  Maker maker;
  const HostCode code =
      maker.code({command(word(0)), maker.loop(0, 4, {command(word(32, {{0, 16}}))})});
  CHECK_EQUAL(code.loop_bytes, 4u + 3u * 2);
  CHECK_EQUAL(code.once_bytes, 4u + 3u * (2 + code.call + code.back));
  CHECK_EQUAL(code.steps[2].first_byte, 3u * (code.call + 2) + 4u);
  CHECK(code.steps[2].is_in_loop && !code.steps[1].is_in_loop);
});

const Test kept("host code: a program keeps its own, and a copy, which may change, has another",
                [] {
                  Maker maker;
                  const Program program = maker.program({command(word(0))});
                  CHECK(&program.host_code() == &program.host_code());
                  CHECK_EQUAL(program.host_code().steps.size(), size_t{2});
                  Program copy = program;
                  copy.body.push_back(command(word(1)));
                  CHECK_EQUAL(copy.host_code().steps.size(), size_t{3});
                  copy = program;
                  CHECK_EQUAL(copy.host_code().steps.size(), size_t{2});
                  CHECK(&copy.host_code() != &program.host_code());
                });

}  // namespace
}  // namespace npu::sim::testing
