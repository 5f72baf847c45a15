#include "rewrite/sums.h"

#include <algorithm>

namespace npu::rewrite {
namespace {

// Whether it is added in one instruction anyway.
bool is_plain(const Operand::Terms& terms) {
  return terms.size() == 1 && (terms[0].by == 1 || terms[0].by == -1);
}

}  // namespace

const Body* SumSharer::shared(const Body* body) {
  Around around;
  std::unordered_map<const Operand*, int64_t> times;
  for (const User& user : users(body, around)) ++times[user.first];
  Often often;
  for (const auto& [terms, runs] : times) {
    if (runs > 1) often[terms] = total(terms->general);
  }
  return often.empty() ? body : shared(body, around, often);
}

// Of a body inside of loops: but for those that are added in one instruction anyway.
const SumSharer::Users& SumSharer::users(const Body* body, Around& around) {
  auto& made = users_[around];  // does not move
  const auto known = made.find(body);
  if (known != made.end()) return known->second;
  Users found;
  for (const Node* node : body->nodes) {
    if (node->is_command()) {
      add_users(*node->rs1, around, found);
      add_users(*node->rs2, around, found);
      continue;
    }
    around.push_back(node->loop_id);
    const Users& inside = users(node->body, around);
    around.pop_back();
    found.insert(inside.begin(), inside.end());
  }
  return made[body] = std::move(found);
}

void SumSharer::add_users(const Operand& operand, const Around& around, Users& users) {
  if (operand.general.empty()) return;
  for (const Terms& terms : by_loop(operand.general, around)) {
    if (is_plain(terms)) continue;
    users.emplace(interned(terms), nodes_.operand({0, operand.address, operand.steps, {}}));
  }
}

std::vector<SumSharer::Terms> SumSharer::by_loop(const Terms& general, const Around& around) {
  std::vector<std::pair<int64_t, Terms>> found;
  for (const Operand::Term& term : general) {
    const int64_t place = depth(term.expr, around);
    const auto is_there = [&](const auto& one) { return one.first == place; };
    auto at = std::find_if(found.begin(), found.end(), is_there);
    if (at == found.end()) at = found.insert(found.end(), {place, {}});
    at->second.push_back(term);
  }
  std::vector<Terms> terms;
  for (auto& one : found) terms.push_back(std::move(one.second));
  return terms;
}

// Of the innermost loop around whose variable is in an expression.
int64_t SumSharer::depth(const Expr* expr, const Around& around) {
  if (expr->is_var()) {
    const auto at = std::find(around.rbegin(), around.rend(), expr->loop_id());
    return (around.rend() - at) - 1;
  }
  int64_t deepest = -1;
  for (const Expr* arg : expr->args) deepest = std::max(deepest, depth(arg, around));
  return deepest;
}

const Body* SumSharer::shared(const Body* body, Around& around, const Often& often) {
  std::vector<const Node*> found;
  for (const Node* node : body->nodes) {
    if (node->is_command()) {
      node = nodes_.command(node->funct, shared(node->rs1, around, often),
                            shared(node->rs2, around, often));
    } else {
      around.push_back(node->loop_id);
      node = nodes_.loop(node->loop_id, node->extent, shared(node->body, around, often));
      around.pop_back();
    }
    found.push_back(node);
  }
  return nodes_.body(std::move(found));
}

const Operand* SumSharer::shared(const Operand* operand, const Around& around, const Often& often) {
  if (operand->general.empty()) return operand;
  const std::vector<Terms> parts = by_loop(operand->general, around);
  Operand found{operand->base, operand->address, operand->steps, {}};
  for (const Terms& terms : parts) {
    const auto sum = often.find(interned(terms));
    if (sum != often.end()) {
      found.general.push_back({1, sum->second});
    } else if (parts.size() == 1) {
      return operand;
    } else {
      found.general.append(terms.begin(), terms.end());
    }
  }
  return nodes_.operand(std::move(found));
}

const Expr* SumSharer::total(const Terms& terms) {
  Exprs& exprs = nodes_.exprs;
  const Expr* total = exprs.zero();
  for (const Operand::Term& term : terms) {
    total = exprs.add(total, exprs.mul(term.expr, exprs.constant(term.by)));
  }
  return total;
}

}  // namespace npu::rewrite
