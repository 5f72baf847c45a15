#include "rewrite/replacement.h"

#include <vector>

namespace npu::rewrite {

const Body* Replacement::body(const Body* body) {
  if ((body->loops & mask_of(loop_id_)) == 0) return body;
  std::vector<const Node*> found;
  found.reserve(body->nodes.size());
  for (const Node* part : body->nodes) found.push_back(node(part));
  return nodes_.body(std::move(found));
}

const Node* Replacement::node(const Node* node) {
  if ((node->loops & mask_of(loop_id_)) == 0) return node;
  if (node->is_command()) {
    return nodes_.command(node->funct, operand(node->rs1), operand(node->rs2));
  }
  return nodes_.loop(node->loop_id, expr(node->extent), body(node->body));
}

const Operand* Replacement::operand(const Operand* operand) {
  bool is_replaced = false;
  bool has_replaced_terms = false;
  OperandSum sum(operand->base, operand->address);
  for (const Operand::Step& step : operand->steps) {
    const auto by = static_cast<uint64_t>(step.by);
    if (step.loop_id != loop_id_) {
      sum.add_step(step.loop_id, by);
      continue;
    }
    is_replaced = true;
    sum.add(nodes_.exprs.constant(offset_), by);
    sum.add_step(loop_id_, by * static_cast<uint64_t>(factor_));
  }
  Operand::Terms terms = operand->general;
  for (Operand::Term& term : terms) {
    const Expr* replaced = expr(term.expr);
    has_replaced_terms |= replaced != term.expr;
    term.expr = replaced;
  }
  for (const Operand::Term& term : terms) {
    const auto by = static_cast<uint64_t>(term.by);
    if (has_replaced_terms) {
      OperandSum part;
      part.add(term.expr, 1);
      sum.add(part, by);
    } else {
      sum.add_term(by, term.expr);
    }
  }
  return is_replaced || has_replaced_terms ? nodes_.operand(sum.made()) : operand;
}

const Expr* Replacement::expr(const Expr* expr) {
  if ((expr->loops & mask_of(loop_id_)) == 0) return expr;
  Exprs& exprs = nodes_.exprs;
  if (expr->is_var()) {
    if (expr->loop_id() != loop_id_) return expr;
    return exprs.add(exprs.mul(expr, exprs.constant(factor_)), exprs.constant(offset_));
  }
  const auto known = exprs_.find(expr);
  if (known != exprs_.end()) return known->second;
  Expr::Args args;
  for (const Expr* arg : expr->args) args.push_back(this->expr(arg));
  const Expr* found = args == expr->args ? expr : exprs.made(expr->op, args);
  exprs_[expr] = found;
  return found;
}

}  // namespace npu::rewrite
