#include "rewrite/shapes.h"

#include <algorithm>
#include <utility>

namespace npu::rewrite {
namespace {

const std::vector<BitField> kNoRows;

}  // namespace

size_t Shapes::Hash::operator()(const Key& key) const {
  uint64_t hash = key.size();
  for (const uint64_t part : key) hash = mixed(hash, part);
  return static_cast<size_t>(hash);
}

Shape Shapes::of(const Node* node) {
  if (node->is_command()) return command(node);
  std::vector<Shape> parts;
  enter(node);
  for (const Node* part : node->body->nodes) parts.push_back(of(part));
  leave();
  return loop(node, parts);
}

Shape Shapes::command(const Node* node) {
  Key key = {uint64_t{node->funct} << 1};
  append(key, *node->rs1);
  append(key, *node->rs2);
  const CommandClass* found = commands_.find(node->funct, node->rs1->base);
  const bool is_setting = found != nullptr && found->is_setting;
  std::vector<Shape::Word> words;
  for (const Operand* operand : {node->rs1, node->rs2}) {
    const std::vector<BitField>* rows = &kNoRows;
    if (!is_setting && operand->has_address()) {
      rows = nullptr;
    } else if (!is_setting && found != nullptr) {
      rows = &found->rows[words.size()];
    }
    words.push_back({operand->base, rows});
  }
  return {node, number(std::move(key)), std::move(words), 1};
}

Shape Shapes::loop(const Node* node, const std::vector<Shape>& parts) {
  Key key = {1};
  append(key, node->extent);
  std::vector<Shape::Word> words;
  int64_t size = 1;
  for (const Shape& part : parts) {
    key.push_back(part.number);
    words.insert(words.end(), part.words.begin(), part.words.end());
    size += part.size;
  }
  return {node, number(std::move(key)), std::move(words), size};
}

uint64_t Shapes::loops_between(uint32_t loop_id) const {
  const auto found = std::find(around_.rbegin(), around_.rend(), loop_id);
  return static_cast<uint64_t>(found - around_.rbegin());
}

void Shapes::append(Key& key, const Operand& operand) const {
  key.push_back(static_cast<uint64_t>(int64_t{operand.address}));
  std::vector<std::pair<uint64_t, int64_t>> steps;
  for (const Operand::Step& step : operand.steps) {
    steps.emplace_back(loops_between(step.loop_id), step.by);
  }
  std::sort(steps.begin(), steps.end());
  key.push_back(steps.size());
  for (const auto& [loops, by] : steps) {
    key.push_back(loops);
    key.push_back(static_cast<uint64_t>(by));
  }
  key.push_back(operand.general.size());
  for (const Operand::Term& term : operand.general) {
    key.push_back(static_cast<uint64_t>(term.by));
    append(key, term.expr);
  }
}

void Shapes::append(Key& key, const Expr* expr) const {
  key.push_back(static_cast<uint64_t>(expr->op));
  if (expr->is_const()) {
    key.push_back(static_cast<uint64_t>(expr->value));
  } else if (expr->is_var()) {
    key.push_back(loops_between(expr->loop_id()));
  } else {
    key.push_back(expr->args.size());
    for (const Expr* arg : expr->args) append(key, arg);
  }
}

uint32_t Shapes::number(Key key) {
  return numbers_.emplace(std::move(key), static_cast<uint32_t>(numbers_.size())).first->second;
}

}  // namespace npu::rewrite
