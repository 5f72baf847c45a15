#include "sim/host_code.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory_resource>
#include <set>
#include <tuple>
#include <utility>

#include "sim/host_branches.h"
#include "sim/host_layout.h"
#include "sim/host_sections.h"
#include "sim/host_values.h"
#include "sim/load_immediate.h"

namespace npu::sim {
namespace {

// Instructions for a word of a table: a shift, an addition, a load.
constexpr uint32_t kOfTable = 3;
// On the stack, for what is found out: most programs need less.
constexpr size_t kMemoryBytes = 1 << 16;
// Where tables might lie: an address that takes two instructions.
constexpr uint64_t kTables = 0x10000100;

class Lowering {
 public:
  Lowering(const Program& program, HostCode& code)
      : program_(program),
        code_(code),
        scope_of_slot_(program.slot_count, kNoScope),
        values_(scopes_, &memory_,
                [this](uint32_t step, uint32_t instructions) { add(step, instructions); }),
        innermost_(program.exprs.nodes.size(), kNoScope) {}

  void lower(HostCode::Extent extent) {
    append_all(program_.body);
    append();  // the program's end
    find_sections(scopes_);
    values_.finish();
    end_loops();
    code_.straight = std::move(values_.straight);
    lay_out(program_, scopes_, extent, code_);
  }

 private:
  uint32_t append() {
    HostStep& step = code_.steps.emplace_back();
    step.is_in_loop = loops_around_ > 0;
    return static_cast<uint32_t>(code_.steps.size() - 1);
  }

  void add(uint32_t step, uint32_t instructions) { code_.steps[step].instructions += instructions; }

  void append_all(const std::vector<Node>& body) {
    HostBranches branches(program_.exprs, [this](uint32_t slot) { return extent_of(slot); });
    for (const Node& node : body) {
      switch (node.kind) {
        case Node::Kind::kLoop:
          append_loop(node, branches);
          if (has_loop(node)) branches.forget();
          break;
        case Node::Kind::kCommand:
          append_command(node);
          break;
      }
    }
  }

  // `branches`: of the conditions before it.
  void append_loop(const Node& node, HostBranches& branches) {
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
      if (!is_fixed && !is_loop) use_condition(node.extent, entry, branches);
      HostScope scope(&memory_);
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
    code_.steps[step].has_command = true;
    if (scope_ != kNoScope) ++scopes_[static_cast<size_t>(scope_)].commands;
    use_operand(node.rs1, step);
    use_operand(node.rs2, step);
  }

  void use_operand(const Operand& operand, uint32_t step) {
    HostValue& value = value_;
    value.base = {operand.address, operand.base};
    value.steps.clear();
    value.terms.clear();
    for (const Operand::Step& term : operand.steps) {
      const int scope = scope_of_slot_[term.slot];
      if (scope == kNoScope || !scopes_[static_cast<size_t>(scope)].is_loop) continue;
      const auto known =
          std::find_if(value.steps.begin(), value.steps.end(),
                       [scope](const HostValue::Step& step) { return step.scope == scope; });
      if (known == value.steps.end()) {
        value.steps.push_back({scope, term.increment});
      } else {
        known->increment += term.increment;
      }
    }
    value.steps.erase(
        std::remove_if(value.steps.begin(), value.steps.end(),
                       [](const HostValue::Step& step) { return step.increment == 0; }),
        value.steps.end());
    std::sort(value.steps.begin(), value.steps.end(),
              [](const HostValue::Step& a, const HostValue::Step& b) { return a.scope < b.scope; });
    for (const Operand::General& term : operand.general) {
      if (term.coefficient == 0) continue;
      value.terms.push_back({use_expression(term.expr, step), term.coefficient, term.expr});
    }
    std::sort(value.terms.begin(), value.terms.end(),
              [](const HostValue::Term& a, const HostValue::Term& b) {
                return std::tie(a.scope, a.coefficient, a.expr) >
                       std::tie(b.scope, b.coefficient, b.expr);
              });
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
        const uint32_t made_at = values_.step_in(scope, scope_, step);
        add(made_at, instructions_of(node.op));
        if (scope != kNoScope) use_operands(node, scope, made_at);
        if (node.op == Op::kTable) {
          values_.use_constant({-1, kTables + sizeof(int64_t) * node.slot}, scope_, step);
        }
      }
    }
    return innermost_[root];
  }

  // A choice is a branch around a move.
  static uint32_t instructions_of(Op op) {
    if (op == Op::kTable) return kOfTable;
    return op == Op::kMin || op == Op::kMax || op == Op::kSelect ? 2 : 1;
  }

  // Numbers in operations are in registers, but for those that an instruction has in itself: what
  // is added, and powers of two as shifts and masks.
  void use_operands(const ExprNode& node, int scope, uint32_t step) {
    for (int k = 0; k < input_count(node.op); ++k) {
      const ExprNode& input = program_.exprs.nodes[node.inputs[k]];
      if (input.op != Op::kConst) continue;
      const auto number = static_cast<uint64_t>(input.value);
      const bool is_added = node.op == Op::kAdd || (node.op == Op::kSub && k == 1);
      const bool is_shifted =
          node.op == Op::kMul || ((node.op == Op::kFloorDiv || node.op == Op::kFloorMod) && k == 1);
      if (is_added && fits_addition(node.op == Op::kSub ? 0 - number : number)) continue;
      if (is_shifted && is_power_of_two(number)) continue;
      values_.use_constant({-1, number}, scope, step);
    }
  }

  // Whether it becomes a loop of the code, or holds one.
  bool has_loop(const Node& node) const {
    if (node.kind != Node::Kind::kLoop) return false;
    const ExprNode& extent = program_.exprs.nodes[node.extent];
    if (extent.op == Op::kConst ? extent.value > 1 : !is_condition(extent.op)) return true;
    return std::any_of(node.body.begin(), node.body.end(),
                       [this](const Node& inner) { return has_loop(inner); });
  }

  // Iterations of the loop in a slot, 0 if they are not fixed.
  uint64_t extent_of(uint32_t slot) const {
    const int loop = scope_of_slot_[slot];
    return loop == kNoScope ? 0 : scopes_[static_cast<size_t>(loop)].extent;
  }

  // Charges a condition: its branches, and what they compare, in registers.
  void use_condition(uint32_t root, uint32_t step, HostBranches& branches) {
    const std::set<uint32_t> branching = branches.nodes_of(root);
    const uint32_t count = branches.take(root);
    add(step, count);
    if (count > 0) {
      for (const uint64_t number : branches.numbers_in(branching)) {
        values_.use_constant({-1, number}, scope_, step);
      }
    }
    use_expression(root, step, branching);
  }

  // Ends of loops: a running register or a counter is compared with where it ends.
  void end_loops() {
    for (HostScope& scope : scopes_) {
      if (!scope.is_loop) continue;
      const bool runs = scope.is_fixed() && !scope.is_counted && !scope.ends.empty();
      const bool has_limit = scope.is_counted || !scope.is_fixed();
      add(scope.entry, has_limit ? 2 : 1);
      add(scope.bottom, runs ? 1 : 2);
      const KnownValue which = {-1, scope.entry};
      if (has_limit) {
        HostUses& counter = scope.words[{HostWord::kCounter, which}];
        counter.runs = counter.begins = true;
        counter.add(scope.bottom, 2);
      }
      HostUses& end = scope.words[{HostWord::kEnd, which}];
      end.begins = true;
      end.add(scope.bottom, 1);
      if (!runs) continue;
      const auto near = std::find_if(scope.ends.begin(), scope.ends.end(), fits_addition);
      if (near != scope.ends.end()) continue;
      values_.use_constant({-1, scope.ends.front()}, scope.parent, scope.entry);
    }
  }

  const Program& program_;
  HostCode& code_;
  std::byte buffer_[kMemoryBytes];
  std::pmr::monotonic_buffer_resource memory_{buffer_, kMemoryBytes};  // of what is found out
  std::vector<HostScope> scopes_;
  std::vector<int> scope_of_slot_;  // of loops around, kNoScope for those that are no loop in code
  HostValues values_;
  std::vector<int> innermost_;  // by expression node
  // Expression nodes, and the scope they are in.
  std::pmr::set<std::pair<uint32_t, int>> computed_{&memory_};
  HostValue value_;  // of the operand that is looked at
  int scope_ = kNoScope;
  int loops_around_ = 0;
  bool is_dead_ = false;  // inside a loop without iterations
};

}  // namespace

HostCode::HostCode(const Program& program, Extent extent) {
  Lowering(program, *this).lower(extent);
}

const HostCode& KeptHostCode::of(const Program& program) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!code_) code_ = std::make_shared<const HostCode>(program);
  return *code_;
}

}  // namespace npu::sim
