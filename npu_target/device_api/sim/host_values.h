// Which registers a program's operands run in, and what advancing them takes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory_resource>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/host_scope.h"
#include "sim/host_straight.h"
#include "sim/known_values.h"

namespace npu::sim {

// An operand in terms of the scopes around it.
struct HostValue {
  using Step = std::pair<int, uint64_t>;             // scope, increment
  using Term = std::tuple<int, uint64_t, uint32_t>;  // innermost scope, coefficient, expression
  KnownValue base;
  std::vector<Step> steps;  // outermost first, none zero
  std::vector<Term> terms;  // innermost first
};

// Operands whose difference is a constant are a family: one register runs, the others are derived
// from it by an addition. Where no value of it comes back within an iteration, one register goes
// from value to value. A family's home is the innermost scope it runs with.
class HostValues {
 public:
  using Add = std::function<void(uint32_t step, uint32_t instructions)>;
  HostValues(std::vector<HostScope>& scopes, Add add) : scopes_(scopes), add_(std::move(add)) {}

  // `step` is in `scope` and uses the value.
  void use(const HostValue& value, int scope, uint32_t step);
  // When all uses are known.
  void finish();

  // The step directly in `home` that `step`, which is in `scope`, is or is inside of.
  uint32_t step_in(int home, int scope, uint32_t step) const;
  // A constant of any kind used in `scope`, at `step` if that is outside of all.
  void use_constant(const KnownValue& value, int scope, uint32_t step);

  std::vector<StraightUse> straight;

 private:
  struct Use {
    int scope;
    uint32_t step;
    uint32_t item;  // step_in(home)
    uint64_t offset;
    bool is_conditional;
  };
  // Where something is made: a step, and the scope that it is directly in.
  struct Place {
    int scope;
    uint32_t step;
  };
  struct Family {
    int number;
    HostValue value;  // of offset 0
    int home;
    std::vector<Use> uses;
  };
  uint32_t add_term(const HostValue::Term& term, int scope, uint32_t step);
  Family& family_of(const HostValue& value, int home);
  void finish(Family& family);
  Place place_of(const Family& family, const std::pmr::vector<const Use*>& uses) const;
  HostWord word_of(const Family& family, uint64_t offset) const;
  uint64_t derive(const Family& family);
  bool comes_back(const Family& family) const;
  void advance(const Family& family, int first_depth, uint64_t moved);
  void begin(const Family& family, int first_depth);

  std::vector<HostScope>& scopes_;
  const Add add_;
  std::deque<Family> families_;
  std::unordered_multimap<uint64_t, Family*> by_hash_;
  // By depth of the home and number of terms: what a family begins from is further down.
  std::map<std::pair<int, size_t>, std::vector<Family*>> order_;
};

}  // namespace npu::sim
