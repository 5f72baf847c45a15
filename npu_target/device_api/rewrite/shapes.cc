#include "rewrite/shapes.h"

#include <algorithm>
#include <utility>

namespace npu::rewrite {
namespace {

const std::vector<BitField> kNoRows;
// Numbers that the key of a command rarely has more of.
constexpr size_t kUsualKey = 24;

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
  Key key;
  key.reserve(kUsualKey);
  key.push_back(uint64_t{node->funct} << 1);
  append(key, *node->rs1);
  append(key, *node->rs2);
  const CommandClass* found = commands_.find(node->funct, node->rs1->base);
  const bool is_setting = found != nullptr && found->is_setting;
  std::vector<Shape::Word> words;
  words.reserve(2);
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

uint32_t Shapes::loops_between(uint32_t loop_id) const {
  const auto found = std::find(around_.rbegin(), around_.rend(), loop_id);
  return static_cast<uint32_t>(found - around_.rbegin());
}

void Shapes::append(Key& key, const Operand& operand) const {
  key.push_back(static_cast<uint64_t>(int64_t{operand.address}));
  // By loops between, in place of the loops' ids.
  Operand::Steps steps = operand.steps;
  for (Operand::Step& step : steps) step.loop_id = loops_between(step.loop_id);
  std::sort(steps.begin(), steps.end());
  key.push_back(steps.size());
  for (const Operand::Step& step : steps) {
    key.push_back(step.loop_id);
    key.push_back(static_cast<uint64_t>(step.by));
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
  const auto next = static_cast<uint32_t>(numbers_.size());
  return numbers_.try_emplace(std::move(key), next).first->second;
}

}  // namespace npu::rewrite
