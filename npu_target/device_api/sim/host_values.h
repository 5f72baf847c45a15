// Which registers a program's operands run in, and what advancing them takes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory_resource>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/few.h"
#include "sim/host_scope.h"
#include "sim/host_straight.h"
#include "sim/known_values.h"

namespace npu::sim {

// An operand in terms of the scopes around it.
struct HostValue {
  struct Step {
    int scope;
    uint64_t increment;

    bool operator==(const Step& other) const {
      return scope == other.scope && increment == other.increment;
    }
  };
  struct Term {
    int scope;  // the innermost
    uint64_t coefficient;
    uint32_t expr;

    bool operator==(const Term& other) const {
      return scope == other.scope && coefficient == other.coefficient && expr == other.expr;
    }
  };
  KnownValue base;
  Few<Step, 4> steps;  // outermost first, none zero
  Few<Term, 2> terms;  // innermost first
};

// Operands whose difference is a constant are a family: one register runs, the others are derived
// from it by an addition. Where no value of it comes back within an iteration, one register goes
// from value to value. A family's home is the innermost scope it runs with.
class HostValues {
 public:
  using Add = std::function<void(uint32_t step, uint32_t instructions)>;
  // What it finds out is in this memory.
  HostValues(std::vector<HostScope>& scopes, std::pmr::memory_resource* memory, Add add)
      : scopes_(scopes),
        add_(std::move(add)),
        families_(memory),
        by_hash_(memory),
        order_(memory) {}

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
    std::pmr::vector<Use> uses;
  };
  uint32_t add_term(const HostValue::Term& term, int scope, uint32_t step);
  Family& family_of(const HostValue& value, int home);
  void finish(Family& family);
  Place place_of(const Family& family, const std::pmr::vector<const Use*>& uses) const;
  HostWord word_of(const Family& family, uint64_t offset) const;
  uint64_t derive(const Family& family);
  uint64_t move_on(const Family& family);
  void derive_from_first(const Family& family);
  bool comes_back(const Family& family) const;
  void advance(const Family& family, int first_depth, uint64_t moved);
  void begin(const Family& family, int first_depth);

  std::vector<HostScope>& scopes_;
  const Add add_;
  std::pmr::deque<Family> families_;
  std::pmr::unordered_multimap<uint64_t, Family*> by_hash_;
  // By depth of the home and number of terms: what a family begins from is further down.
  std::pmr::map<std::pair<int, size_t>, std::pmr::vector<Family*>> order_;
};

}  // namespace npu::sim
