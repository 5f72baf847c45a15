#include "rewrite/programs.h"

#include <unordered_map>
#include <utility>

namespace npu::rewrite {
namespace {

class Reader {
 public:
  Reader(Nodes& nodes, const sim::Program& program) : nodes_(nodes), program_(program) {
    exprs_.reserve(program.exprs.nodes.size());
    for (const sim::ExprNode& node : program.exprs.nodes) exprs_.push_back(expr(node));
  }

  const Body* body(const std::vector<sim::Node>& nodes) {
    std::vector<const Node*> found;
    found.reserve(nodes.size());
    for (const sim::Node& node : nodes) {
      found.push_back(
          node.kind == sim::Node::Kind::kCommand
              ? nodes_.command(node.funct, operand(node.rs1), operand(node.rs2))
              : nodes_.loop(program_.loop_ids[node.slot], exprs_[node.extent], body(node.body)));
    }
    return nodes_.body(std::move(found));
  }

 private:
  const Expr* expr(const sim::ExprNode& node) {
    if (node.op == Op::kConst) return nodes_.exprs.constant(node.value);
    if (node.op == Op::kVar) return nodes_.exprs.var(program_.loop_ids[node.slot]);
    Expr::Args args;
    for (int k = 0; k < sim::input_count(node.op); ++k) args.push_back(exprs_[node.inputs[k]]);
    if (node.op == Op::kTable) {
      for (uint32_t i = 0; i < node.count; ++i) {
        args.push_back(nodes_.exprs.constant(program_.exprs.words[node.slot + i]));
      }
    }
    return nodes_.exprs.raw(node.op, 0, std::move(args));
  }

  const Operand* operand(const sim::Operand& operand) {
    Operand found{operand.base, operand.address, {}, {}};
    found.steps.reserve(operand.steps.size());
    found.general.reserve(operand.general.size());
    for (const sim::Operand::Step& step : operand.steps) {
      found.steps.push_back({program_.loop_ids[step.slot], static_cast<int64_t>(step.increment)});
    }
    for (const sim::Operand::General& term : operand.general) {
      found.general.push_back({static_cast<int64_t>(term.coefficient), exprs_[term.expr]});
    }
    return nodes_.operand(std::move(found));
  }

  Nodes& nodes_;
  const sim::Program& program_;
  std::vector<const Expr*> exprs_;  // of the program, by index
};

// Gives expressions and loops their numbers in the order in which the file has them.
class Writer {
 public:
  explicit Writer(sim::Program& program) : program_(program) {}

  std::vector<sim::Node> body(const std::vector<const Node*>& nodes) {
    std::vector<sim::Node> found;
    found.reserve(nodes.size());
    for (const Node* node : nodes) {
      sim::Node& made = found.emplace_back();
      if (node->is_command()) {
        made.funct = node->funct;
        made.rs1 = operand(*node->rs1);
        made.rs2 = operand(*node->rs2);
      } else {
        made.kind = sim::Node::Kind::kLoop;
        made.extent = root(node->extent);
        made.slot = slot(node->loop_id);
        made.body = body(node->body->nodes);
      }
    }
    return found;
  }

 private:
  sim::Operand operand(const Operand& operand) {
    sim::Operand found;
    found.base = operand.base;
    found.address = operand.address;
    found.steps.reserve(operand.steps.size());
    found.general.reserve(operand.general.size());
    for (const Operand::Step& step : operand.steps) {
      found.steps.push_back({slot(step.loop_id), static_cast<uint64_t>(step.by)});
    }
    for (const Operand::Term& term : operand.general) {
      found.general.push_back({static_cast<uint64_t>(term.by), root(term.expr)});
    }
    return found;
  }

  uint32_t root(const Expr* expr) {
    const uint32_t found = index(expr);
    program_.exprs.prepare_root(found);
    return found;
  }

  uint32_t index(const Expr* expr) {
    const auto known = indices_.find(expr);
    if (known != indices_.end()) return known->second;
    sim::ExprNode node{expr->op};
    if (expr->is_const()) {
      node.value = expr->value;
    } else if (expr->is_var()) {
      node.slot = slot(expr->loop_id());
    } else {
      for (int k = 0; k < sim::input_count(expr->op); ++k) {
        node.inputs[k] = index(expr->args[static_cast<size_t>(k)]);
      }
      if (expr->op == Op::kTable) {
        node.slot = static_cast<uint32_t>(program_.exprs.words.size());
        node.count = static_cast<uint32_t>(expr->args.size()) - 1;
        for (size_t i = 1; i < expr->args.size(); ++i) {
          program_.exprs.words.push_back(expr->args[i]->value);
        }
      }
    }
    program_.exprs.nodes.push_back(node);
    return indices_[expr] = static_cast<uint32_t>(program_.exprs.nodes.size()) - 1;
  }

  uint32_t slot(uint32_t loop_id) {
    const auto [at, is_new] = slots_.try_emplace(loop_id, program_.slot_count);
    if (is_new) {
      program_.loop_ids.push_back(loop_id);
      ++program_.slot_count;
    }
    return at->second;
  }

  sim::Program& program_;
  std::unordered_map<const Expr*, uint32_t> indices_;
  std::unordered_map<uint32_t, uint32_t> slots_;  // by loop id
};

}  // namespace

const Body* body_of(Nodes& nodes, const sim::Program& program) {
  return Reader(nodes, program).body(program.body);
}

sim::Program with_body(const sim::Program& program, const std::vector<const Node*>& nodes) {
  sim::Program found;
  found.name = program.name;
  found.kind = program.kind;
  found.config_name = program.config_name;
  found.numbers = program.numbers;
  found.host = program.host;
  found.arguments = program.arguments;
  found.shifted_addresses = program.shifted_addresses;
  found.body = Writer(found).body(nodes);
  return found;
}

}  // namespace npu::rewrite
