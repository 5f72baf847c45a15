// What a program is made of: commands with running operands, and loops around them. All are made
// once: equal ones are one object, and none changes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rewrite/expr.h"
#include "rewrite/interner.h"
#include "sim/program.h"

namespace npu::rewrite {

// base + an argument's address + increments x loop variables + coefficients x expressions,
// modulo 2^64.
struct Operand {
  struct Step {
    uint32_t loop_id;
    int64_t by;
    bool operator==(const Step& other) const { return loop_id == other.loop_id && by == other.by; }
    bool operator<(const Step& other) const {
      return std::pair(loop_id, by) < std::pair(other.loop_id, other.by);
    }
  };
  struct Term {
    int64_t by;
    const Expr* expr;
    bool operator==(const Term& other) const { return by == other.by && expr == other.expr; }
  };
  using Steps = Few<Step, 3>;
  using Terms = Few<Term, 2>;
  static constexpr int32_t kNoAddress = -1;

  uint64_t base = 0;
  int32_t address = kNoAddress;  // as in sim::Program
  Steps steps;                   // by loop id; none are 0
  Terms general;

  bool has_address() const { return address != kNoAddress; }
  LoopMask loops() const;
  uint64_t hash() const;
  bool operator==(const Operand& other) const {
    return base == other.base && address == other.address && steps == other.steps &&
           general == other.general;
  }
};

struct Node;

struct Body {
  std::vector<const Node*> nodes;
  LoopMask loops;  // whose variables it has

  uint64_t hash() const {
    uint64_t hash = nodes.size();
    for (const Node* node : nodes) hash = mixed(hash, node);
    return hash;
  }
  bool operator==(const Body& other) const { return nodes == other.nodes; }
};

struct Node {
  // A command.
  uint8_t funct;
  const Operand* rs1;  // nullptr: it is a loop
  const Operand* rs2;
  // A loop: runs the body with the variable 0 to extent - 1. A condition is one whose extent is 0
  // or 1.
  uint32_t loop_id;
  const Expr* extent;
  const Body* body;
  LoopMask loops;

  bool is_command() const { return rs1 != nullptr; }
  bool is_loop() const { return rs1 == nullptr; }
  bool is_condition() const { return is_loop() && sim::is_condition(extent->op); }
  // How often a loop runs its body, 1 where that is not fixed.
  int64_t fixed_extent() const { return extent->is_const() ? extent->value : 1; }
  uint64_t hash() const {
    if (is_command()) return mixed(mixed(funct, rs1), rs2);
    return mixed(mixed(loop_id + 0x100u, extent), body);
  }
  bool operator==(const Node& other) const {
    return funct == other.funct && rs1 == other.rs1 && rs2 == other.rs2 &&
           loop_id == other.loop_id && extent == other.extent && body == other.body;
  }
};

// Makes nodes and what is in them.
class Nodes {
 public:
  Exprs exprs;

  const Operand* operand(Operand operand) { return operands_.get(std::move(operand)); }
  const Node* command(uint8_t funct, const Operand* rs1, const Operand* rs2);
  const Node* loop(uint32_t loop_id, const Expr* extent, const Body* body);
  const Body* body(std::vector<const Node*> nodes);

 private:
  Interner<Operand> operands_;
  Interner<Node> nodes_;
  Interner<Body> bodies_;
};

// Operands in the making. Sums, differences and multiples by constants of loop variables become
// steps.
class OperandSum {
 public:
  explicit OperandSum(uint64_t base = 0, int32_t address = Operand::kNoAddress)
      : base_(base), address_(address) {}

  void add(const Expr* expr, uint64_t factor);
  // Without an address, and what of it is 0.
  void add(const OperandSum& other, uint64_t factor);
  void add_step(uint32_t loop_id, uint64_t by);
  void add_term(uint64_t by, const Expr* expr);
  // Forgets what has become 0: terms are in the order in which they came to be.
  void drop_zeros();
  // The sum, as it is now.
  Operand made() const;

 private:
  struct Step {
    uint32_t loop_id;
    uint64_t by;
  };
  struct Term {
    uint64_t by;
    const Expr* expr;
  };
  uint64_t base_;
  int32_t address_;
  Few<Step, 3> steps_;
  Few<Term, 2> general_;
};

// Calls visit(node) for all nodes of a body, those inside others after them.
template <typename Visit>
void for_each_node(const Body& body, const Visit& visit) {
  for (const Node* node : body.nodes) {
    visit(*node);
    if (node->is_loop()) for_each_node(*node->body, visit);
  }
}

}  // namespace npu::rewrite
