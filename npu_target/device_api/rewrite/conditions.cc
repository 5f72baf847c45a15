#include "rewrite/conditions.h"

#include "rewrite/replacement.h"

namespace npu::rewrite {
namespace {

// Whether a loop is met when the one before it is, and then only.
bool is_met_with(const Node* loop, const Node* before) {
  return before->is_condition() && before->extent == loop->extent &&
         before->loop_id == loop->loop_id;
}

}  // namespace

const Body* Decider::decided(const Body* body, const LoopRanges* loops) {
  auto& made = made_[loops];  // does not move
  const auto known = made.find(body);
  if (known != made.end()) return known->second;
  return made[body] = make(body, loops);
}

const Body* Decider::make(const Body* body, const LoopRanges* loops) {
  std::vector<const Node*> found;
  found.reserve(body->nodes.size());
  for (const Node* node : body->nodes) add(found, node, loops);
  return nodes_.body(std::move(found));
}

void Decider::add(std::vector<const Node*>& found, const Node* node, const LoopRanges* loops) {
  if (node->is_command()) {
    if (!node->rs1->general.empty() || !node->rs2->general.empty()) {
      Ranges& ranges = places_.ranges(loops);
      node =
          nodes_.command(node->funct, simplified(node->rs1, ranges), simplified(node->rs2, ranges));
    }
    found.push_back(node);
    return;
  }
  const Expr* extent = node->extent;
  if (!extent->is_const()) extent = places_.ranges(loops).simplified(extent);
  if (extent->is_const() && extent->value <= 1) {
    if (extent->value != 1) return;
    const Body* once = Replacement(nodes_, node->loop_id, 0, 0).body(node->body);
    const Body* parts = decided(once, loops);
    found.insert(found.end(), parts->nodes.begin(), parts->nodes.end());
    return;
  }
  const bool is_known = extent->is_const() || sim::is_condition(extent->op);
  const int64_t last = extent->is_const() ? extent->value - 1 : 0;
  LoopRanges inner =
      is_known ? loops->with(node->loop_id, {0, last}) : loops->without(node->loop_id);
  const Body* inside = decided(node->body, places_.loops(std::move(inner)));
  if (inside->nodes.empty()) return;
  const Node* loop = nodes_.loop(node->loop_id, extent, inside);
  if (found.empty() || !is_met_with(loop, found.back())) {
    found.push_back(loop);
    return;
  }
  std::vector<const Node*> both = found.back()->body->nodes;
  both.insert(both.end(), inside->nodes.begin(), inside->nodes.end());
  found.back() = nodes_.loop(loop->loop_id, extent, nodes_.body(std::move(both)));
}

const Operand* Decider::simplified(const Operand* operand, Ranges& ranges) {
  if (operand->general.empty()) return operand;
  OperandSum sum(operand->base, operand->address);
  for (const Operand::Step& step : operand->steps) {
    sum.add_step(step.loop_id, static_cast<uint64_t>(step.by));
  }
  for (const Operand::Term& term : operand->general) {
    OperandSum part;
    part.add(ranges.simplified(term.expr), 1);
    sum.add(part, static_cast<uint64_t>(term.by));
    sum.drop_zeros();
  }
  return nodes_.operand(sum.made());
}

}  // namespace npu::rewrite
