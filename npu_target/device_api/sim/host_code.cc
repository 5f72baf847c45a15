#include "sim/host_code.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "sim/host_values.h"
#include "sim/load_immediate.h"

namespace npu::sim {
namespace {

class Lowering {
 public:
  Lowering(const Program& program, HostCode& code)
      : program_(program),
        code_(code),
        scope_of_slot_(program.slot_count, kNoScope),
        values_(scopes_, [this](uint32_t step, uint32_t instructions) { add(step, instructions); }),
        innermost_(program.exprs.nodes.size(), kNoScope) {}

  void lower() {
    append_all(program_.body);
    append();  // the program's end
    values_.finish();
    end_loops();
    fit_registers();
    make_straight_values();
    lay_out();
  }

 private:
  uint32_t append() {
    HostStep& step = code_.steps.emplace_back();
    step.is_in_loop = loops_around_ > 0;
    return static_cast<uint32_t>(code_.steps.size() - 1);
  }

  void add(uint32_t step, uint32_t instructions) { code_.steps[step].instructions += instructions; }

  void append_all(const std::vector<Node>& body) {
    for (const Node& node : body) {
      switch (node.kind) {
        case Node::Kind::kLoop:
          append_loop(node);
          break;
        case Node::Kind::kCommand:
          append_command(node);
          break;
      }
    }
  }

  void append_loop(const Node& node) {
    const ExprNode& extent = program_.exprs.nodes[node.extent];
    const bool is_fixed = extent.op == Op::kConst;
    const bool repeats = !is_fixed || extent.value > 1;
    const bool is_loop = repeats && !is_condition(extent.op);
    const uint32_t entry = append();
    const bool was_dead = is_dead_;
    const int outside = scope_;
    is_dead_ = is_dead_ || (is_fixed && extent.value < 1);
    const bool is_scope = repeats && !is_dead_;
    if (is_scope) {
      if (!is_fixed && is_loop) use_expression(node.extent, entry);
      if (!is_fixed && !is_loop) use_condition(node.extent, entry);
      HostScope scope;
      scope.parent = outside;
      scope.depth = outside == kNoScope ? 1 : scopes_[outside].depth + 1;
      scope.is_loop = is_loop;
      scope.extent = is_fixed ? static_cast<uint64_t>(extent.value) : 0;
      scope.entry = entry;
      scope_ = static_cast<int>(scopes_.size());
      scopes_.push_back(std::move(scope));
      scope_of_slot_[node.slot] = scope_;
    }
    loops_around_ += is_loop;
    append_all(node.body);
    const uint32_t bottom = append();
    loops_around_ -= is_loop;
    if (is_scope) scopes_[static_cast<size_t>(scope_)].bottom = bottom;
    scope_of_slot_[node.slot] = kNoScope;
    scope_ = outside;
    is_dead_ = was_dead;
  }

  void append_command(const Node& node) {
    const uint32_t step = append();
    if (is_dead_) return;
    add(step, 1);
    use_operand(node.rs1, step);
    use_operand(node.rs2, step);
  }

  void use_operand(const Operand& operand, uint32_t step) {
    HostValue value;
    value.base = {operand.address, operand.base};
    std::map<int, uint64_t> steps;
    for (const Operand::Step& term : operand.steps) {
      const int scope = scope_of_slot_[term.slot];
      if (scope != kNoScope && scopes_[static_cast<size_t>(scope)].is_loop) {
        steps[scope] += term.increment;
      }
    }
    for (const auto& [scope, increment] : steps) {
      if (increment != 0) value.steps.emplace_back(scope, increment);
    }
    for (const Operand::General& term : operand.general) {
      if (term.coefficient == 0) continue;
      value.terms.emplace_back(use_expression(term.expr, step), term.coefficient, term.expr);
    }
    std::sort(value.terms.rbegin(), value.terms.rend());
    values_.use(value, scope_, step);
  }

  // Charges the operations of an expression that the step uses, each once in the body of the
  // innermost loop whose variable it is made of, but for those that are branches. Returns that
  // loop.
  int use_expression(uint32_t root, uint32_t step, const std::set<uint32_t>& branches = {}) {
    const std::vector<ExprNode>& nodes = program_.exprs.nodes;
    for (const uint32_t index : program_.exprs.nodes_of(root)) {
      const ExprNode& node = nodes[index];
      int scope = kNoScope;
      if (node.op == Op::kVar) {
        scope = scope_of_slot_[node.slot];
        // A condition's own variable is 0 inside of it.
        if (scope != kNoScope && !scopes_[static_cast<size_t>(scope)].is_loop) scope = kNoScope;
        if (scope != kNoScope) scopes_[static_cast<size_t>(scope)].is_counted = true;
      }
      for (int k = 0; k < input_count(node.op); ++k) {
        scope = std::max(scope, innermost_[node.inputs[k]]);
      }
      innermost_[index] = scope;
      if (input_count(node.op) == 0 || branches.count(index) > 0) continue;
      if (computed_.emplace(index, scope).second) {
        add(values_.step_in(scope, scope_, step), 1);
      }
    }
    return innermost_[root];
  }

  // Charges a condition: a comparison is part of its branch, its opposite the same branch, and two
  // that are joined are two.
  void use_condition(uint32_t root, uint32_t step) {
    std::set<uint32_t> branches;
    add_branches(root, step, branches);
    use_expression(root, step, branches);
  }

  void add_branches(uint32_t index, uint32_t step, std::set<uint32_t>& branches) {
    const ExprNode& node = program_.exprs.nodes[index];
    const bool is_joined = node.op == Op::kAnd || node.op == Op::kOr;
    const bool is_negation = is_negated(node);
    if (!is_joined && !is_negation) add(step, 1);
    if (!is_condition(node.op)) return;
    branches.insert(index);
    if (is_joined || is_negation) add_branches(node.inputs[0], step, branches);
    if (is_joined) add_branches(node.inputs[1], step, branches);
    if (is_joined || is_negation) return;
    for (const uint32_t input : {node.inputs[0], node.inputs[1]}) {
      const ExprNode& number = program_.exprs.nodes[input];
      if (number.op != Op::kConst) continue;
      values_.use_constant({-1, static_cast<uint64_t>(number.value)}, scope_, step);
    }
  }

  // Whether it is the opposite of a condition: a branch the other way.
  bool is_negated(const ExprNode& node) const {
    if (node.op != Op::kEq || !is_condition(program_.exprs.nodes[node.inputs[0]].op)) return false;
    const ExprNode& number = program_.exprs.nodes[node.inputs[1]];
    return number.op == Op::kConst && number.value == 0;
  }

  // Ends of loops: a running register or a counter is compared with where it ends.
  void end_loops() {
    for (HostScope& scope : scopes_) {
      if (!scope.is_loop) continue;
      const bool runs = scope.is_fixed() && !scope.is_counted && !scope.ends.empty();
      const bool has_limit = scope.is_counted || !scope.is_fixed();
      add(scope.entry, has_limit ? 2 : 1);
      add(scope.bottom, runs ? 1 : 2);
      scope.registers += has_limit ? 2 : 1;
      if (!runs) continue;
      const auto near = std::find_if(scope.ends.begin(), scope.ends.end(), fits_addition);
      if (near != scope.ends.end()) continue;
      values_.use_constant({-1, scope.ends.front()}, scope.parent, scope.entry);
    }
  }

  // Every register of a loop and of those inside it lives all through it. Where there are too many,
  // some are in memory while they are not used: a constant is loaded where an iteration of this
  // loop needs it first, what runs is loaded and stored in each.
  void fit_registers() {
    const auto limit = static_cast<size_t>(program_.host.host_registers);
    for (size_t i = scopes_.size(); i-- > 0;) {
      HostScope& scope = scopes_[i];
      const size_t live = scope.registers + scope.constants.size();
      if (live > limit) {
        const size_t constants = std::min(live - limit, scope.constants.size());
        const size_t running = live - limit - constants;
        add(scope.is_loop ? scope.bottom : scope.entry, static_cast<uint32_t>(2 * running));
        scope.registers -= static_cast<uint32_t>(running);
        keep_in_memory(scope, constants);
      }
      if (scope.parent == kNoScope) {
        for (const auto& [value, step] : scope.constants) {
          values_.straight.push_back({scope.entry, StraightUse::Kind::kConstant, value});
        }
        continue;
      }
      HostScope& outside = scopes_[static_cast<size_t>(scope.parent)];
      outside.registers += scope.registers;
      for (const auto& [value, step] : scope.constants) {
        outside.constants.emplace(value, scope.entry);
      }
    }
  }

  // Such constants are made and stored once, before all loops, and loaded where they are needed.
  void keep_in_memory(HostScope& scope, size_t count) {
    const uint32_t before = values_.step_in(kNoScope, scope.parent, scope.entry);
    for (; count > 0; --count) {
      const auto last = std::prev(scope.constants.end());
      values_.straight.push_back({before, StraightUse::Kind::kConstant, last->first});
      add(before, 1);
      add(last->second, 1);
      scope.constants.erase(last);
    }
  }

  void make_straight_values() {
    std::vector<StraightUse>& uses = values_.straight;
    std::stable_sort(uses.begin(), uses.end(), [](const StraightUse& a, const StraightUse& b) {
      return std::make_pair(a.step, a.kind) < std::make_pair(b.step, b.kind);
    });
    KnownValues known(static_cast<size_t>(program_.host.host_registers), program_);
    std::vector<KnownValue> stopped;
    for (size_t i = 0; i < uses.size(); ++i) {
      const StraightUse& use = uses[i];
      if (use.kind == StraightUse::Kind::kRunning) {
        add(use.step, known.take(use.value));
        stopped.push_back({use.value.address, use.value.offset + use.distance});
      } else {
        add(use.step, known.make(use.value));
      }
      if (i + 1 < uses.size() && uses[i + 1].step == use.step) continue;
      for (const KnownValue& value : stopped) known.put(value);
      stopped.clear();
    }
  }

  void lay_out() {
    uint64_t place = 0;
    for (HostStep& step : code_.steps) {
      step.first = static_cast<uint32_t>(place);
      place += step.instructions;
      (step.is_in_loop ? code_.loop_bytes : code_.once_bytes) +=
          uint64_t{step.instructions} * HostCode::kInstructionBytes;
    }
  }

  const Program& program_;
  HostCode& code_;
  std::vector<HostScope> scopes_;
  std::vector<int> scope_of_slot_;  // of loops around, kNoScope for those that are no loop in code
  HostValues values_;
  std::vector<int> innermost_;                   // by expression node
  std::set<std::pair<uint32_t, int>> computed_;  // expression nodes, and the scope they are in
  int scope_ = kNoScope;
  int loops_around_ = 0;
  bool is_dead_ = false;  // inside a loop without iterations
};

}  // namespace

HostCode::HostCode(const Program& program) { Lowering(program, *this).lower(); }

}  // namespace npu::sim
