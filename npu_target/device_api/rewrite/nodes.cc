#include "rewrite/nodes.h"

#include <algorithm>

namespace npu::rewrite {

LoopMask Operand::loops() const {
  LoopMask loops = 0;
  for (const Step& step : steps) loops |= mask_of(step.loop_id);
  for (const Term& term : general) loops |= term.expr->loops;
  return loops;
}

uint64_t Operand::hash() const {
  uint64_t hash = mixed(base, static_cast<uint64_t>(address));
  for (const Step& step : steps) hash = mixed(mixed(hash, step.loop_id), uint64_t(step.by));
  for (const Term& term : general) hash = mixed(mixed(hash, uint64_t(term.by)), term.expr);
  return hash;
}

const Node* Nodes::command(uint8_t funct, const Operand* rs1, const Operand* rs2) {
  return nodes_.get({funct, rs1, rs2, 0, nullptr, nullptr, rs1->loops() | rs2->loops()});
}

const Node* Nodes::loop(uint32_t loop_id, const Expr* extent, const Body* body) {
  return nodes_.get({0, nullptr, nullptr, loop_id, extent, body, extent->loops | body->loops});
}

const Body* Nodes::body(std::vector<const Node*> nodes) {
  LoopMask loops = 0;
  for (const Node* node : nodes) loops |= node->loops;
  return bodies_.get({std::move(nodes), loops});
}

void OperandSum::add(const Expr* expr, uint64_t factor) {
  switch (expr->op) {
    case Op::kConst:
      base_ += factor * static_cast<uint64_t>(expr->value);
      return;
    case Op::kVar:
      add_step(expr->loop_id(), factor);
      return;
    case Op::kAdd:
      add(expr->args[0], factor);
      add(expr->args[1], factor);
      return;
    case Op::kSub:
      add(expr->args[0], factor);
      add(expr->args[1], 0 - factor);
      return;
    case Op::kMul:
      if (expr->args[1]->is_const()) {
        add(expr->args[0], factor * static_cast<uint64_t>(expr->args[1]->value));
        return;
      }
      break;
    default:
      break;
  }
  add_term(factor, expr);
}

void OperandSum::add(const OperandSum& other, uint64_t factor) {
  base_ += other.base_ * factor;
  for (const Step& step : other.steps_) {
    if (step.by * factor != 0) add_step(step.loop_id, step.by * factor);
  }
  for (const Term& term : other.general_) {
    if (term.by * factor != 0) add_term(term.by * factor, term.expr);
  }
}

void OperandSum::drop_zeros() {
  const auto is_zero = [](const auto& part) { return part.by == 0; };
  steps_.erase(std::remove_if(steps_.begin(), steps_.end(), is_zero), steps_.end());
  general_.erase(std::remove_if(general_.begin(), general_.end(), is_zero), general_.end());
}

void OperandSum::add_step(uint32_t loop_id, uint64_t by) {
  for (Step& step : steps_) {
    if (step.loop_id == loop_id) {
      step.by += by;
      return;
    }
  }
  steps_.push_back({loop_id, by});
}

void OperandSum::add_term(uint64_t by, const Expr* expr) {
  for (Term& term : general_) {
    if (term.expr == expr) {
      term.by += by;
      return;
    }
  }
  general_.push_back({by, expr});
}

Operand OperandSum::made() const {
  Operand operand{base_, address_, {}, {}};
  for (const Step& step : steps_) {
    if (step.by != 0) operand.steps.push_back({step.loop_id, static_cast<int64_t>(step.by)});
  }
  std::sort(operand.steps.begin(), operand.steps.end());
  for (const Term& term : general_) {
    if (term.by != 0) operand.general.push_back({static_cast<int64_t>(term.by), term.expr});
  }
  return operand;
}

}  // namespace npu::rewrite
