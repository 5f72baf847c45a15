// How many branches conditions that follow each other take: counted by hand.
#include <cstdint>
#include <set>
#include <vector>

#include "check.h"
#include "sim/host_branches.h"

namespace npu::sim::testing {
namespace {

constexpr uint64_t kFewTurns = 4;
constexpr uint64_t kManyTurns = 100000;
constexpr uint32_t kFew = 0;  // loops' slots, and the nodes that are their variables
constexpr uint32_t kMany = 1;
constexpr uint32_t kOther = 2;  // no loop
constexpr size_t kSlots = 16;

class Conditions {
 public:
  Conditions() {
    for (uint32_t slot = 0; slot < kSlots; ++slot) table_.nodes.push_back({Op::kVar, 0, slot});
  }
  uint32_t number(int64_t value) { return add({Op::kConst, value}); }
  uint32_t apply(Op op, uint32_t a, uint32_t b) { return add({op, 0, 0, {a, b}}); }
  uint32_t is(uint32_t variable, int64_t value) { return apply(Op::kEq, variable, number(value)); }
  HostBranches branches() const {
    return {table_, [](uint32_t slot) {
              return slot == kFew ? kFewTurns : slot == kMany ? kManyTurns : uint64_t{0};
            }};
  }
  // Of each of these, one after another.
  std::vector<uint32_t> taken(const std::vector<uint32_t>& conditions) const {
    HostBranches branches = this->branches();
    std::vector<uint32_t> found;
    for (const uint32_t condition : conditions) found.push_back(branches.take(condition));
    return found;
  }

 private:
  uint32_t add(ExprNode node) {
    table_.nodes.push_back(node);
    return static_cast<uint32_t>(table_.nodes.size() - 1);
  }
  ExprTable table_;
};

using Counts = std::vector<uint32_t>;

const Test parts("host branches: comparisons, what joins them, what they compare with", [] {
  Conditions made;
  const uint32_t early = made.apply(Op::kLe, kFew, made.number(2));
  const uint32_t later = made.apply(Op::kEq, early, made.number(0));
  const uint32_t far = made.apply(Op::kLt, made.number(-7), kMany);
  const uint32_t both = made.apply(Op::kAnd, later, far);
  const HostBranches branches = made.branches();
  CHECK(branches.nodes_of(both) == std::set<uint32_t>({early, later, far, both}));
  // That 0 is no number in a register: the opposite is a branch the other way.
  CHECK(branches.numbers_in(branches.nodes_of(both)) ==
        std::vector<uint64_t>({2, static_cast<uint64_t>(int64_t{-7})}));
  // A value that is no condition is one of the host's operations.
  const uint32_t difference = made.apply(Op::kSub, kFew, kMany);
  const uint32_t either = made.apply(Op::kOr, difference, early);
  CHECK(branches.nodes_of(either) == std::set<uint32_t>({early, either}));
  CHECK(branches.nodes_of(difference).empty());
});

const Test values("host branches: of a loop's variable it is known what is left of it", [] {
  Conditions made;
  const uint32_t first = made.is(kFew, 0);
  const uint32_t second = made.is(kFew, 1);
  const uint32_t third = made.is(kFew, 2);
  const uint32_t last = made.is(kFew, 3);
  // In the mean 1, 3/4, 2/4 and 1/4, as what is known to be another value is not asked: rounded
  // together 1, 2, 2, 3. Nothing is left to ask.
  CHECK(made.taken({first, second, third, last, last, first}) == Counts({1, 1, 0, 1, 0, 0}));
  // Values beyond the loop's ends: no compiler knows that the last one is the only one left.
  CHECK(made.taken({made.apply(Op::kLt, kFew, made.number(4))}) == Counts({1}));
  CHECK(made.taken({made.apply(Op::kLt, kFew, made.number(9))}) == Counts({0}));
});

const Test unknown("host branches: anything else comes out either way", [] {
  Conditions made;
  const uint32_t early = made.apply(Op::kLe, kMany, made.number(2));
  const uint32_t first = made.is(kMany, 0);
  // Of too many values none is followed: each condition is asked once.
  CHECK(made.taken({early, first, early, first}) == Counts({1, 1, 0, 0}));
  const uint32_t other = made.is(kOther, 0);
  CHECK(made.taken({other, made.is(kOther, 1), other}) == Counts({1, 1, 0}));
  // The second is asked where the first holds, half of the times, in the other order always.
  const uint32_t both = made.apply(Op::kAnd, other, first);
  CHECK(made.taken({both, first}) == Counts({2, 0}));
  CHECK(made.taken({first, both}) == Counts({1, 1}));
  const uint32_t opposite = made.apply(Op::kEq, other, made.number(0));
  CHECK(made.taken({opposite, other}) == Counts({1, 0}));
});

const Test between("host branches: what stands between ends what is known", [] {
  Conditions made;
  const uint32_t first = made.is(kFew, 0);
  HostBranches branches = made.branches();
  CHECK_EQUAL(branches.take(first), 1u);
  CHECK_EQUAL(branches.take(first), 0u);
  branches.forget();
  CHECK_EQUAL(branches.take(first), 1u);
});

const Test paths("host branches: code is not copied without end", [] {
  Conditions made;
  std::vector<uint32_t> conditions;
  for (uint32_t slot = kOther; slot < kOther + 7; ++slot) conditions.push_back(made.is(slot, 0));
  // Six conditions make 64 paths, seven too many.
  std::vector<uint32_t> six(conditions.begin(), conditions.begin() + 6);
  six.push_back(conditions[0]);
  CHECK(made.taken(six) == Counts({1, 1, 1, 1, 1, 1, 0}));
  conditions.push_back(conditions[0]);
  CHECK(made.taken(conditions) == Counts({1, 1, 1, 1, 1, 1, 1, 1}));
});

}  // namespace
}  // namespace npu::sim::testing
