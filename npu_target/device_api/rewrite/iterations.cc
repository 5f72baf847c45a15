#include "rewrite/iterations.h"

#include <algorithm>
#include <utility>

#include "rewrite/replacement.h"

namespace npu::rewrite {
namespace {

// Compares an iteration of a loop with nodes whose loops have other names.
class Comparison {
 public:
  // Of the iteration in which the loop's variable is `index`.
  Comparison(Nodes& nodes, const Node* loop, int64_t index)
      : iteration_(nodes, loop->loop_id, 0, index) {}

  // So many nodes as the body has, from `other` on.
  bool is_same(const Body& body, const Node* const* other) {
    for (const Node* mine : body.nodes) {
      if (!is_same(*mine, **other++)) return false;
    }
    return true;
  }

 private:
  bool is_same(const Node& mine, const Node& other) {
    if (mine.is_command()) {
      return other.is_command() && mine.funct == other.funct && is_same(*mine.rs1, *other.rs1) &&
             is_same(*mine.rs2, *other.rs2);
    }
    if (other.is_command() || mine.body->nodes.size() != other.body->nodes.size()) return false;
    if (!is_renamed(iteration_.expr(mine.extent), other.extent)) return false;
    names_.emplace_back(mine.loop_id, other.loop_id);
    const bool is_equal = is_same(*mine.body, other.body->nodes.data());
    names_.pop_back();
    return is_equal;
  }

  bool is_same(const Operand& word, const Operand& other) {
    if (word.address != other.address) return false;
    const Operand& mine = *iteration_.operand(&word);
    if (mine.base != other.base || mine.general.size() != other.general.size() ||
        mine.steps.size() != other.steps.size()) {
      return false;
    }
    Operand::Steps steps;
    for (const Operand::Step& step : mine.steps) steps.push_back({name_of(step.loop_id), step.by});
    Operand::Steps others = other.steps;
    std::sort(steps.begin(), steps.end());
    std::sort(others.begin(), others.end());
    if (!(steps == others)) return false;
    for (size_t i = 0; i < mine.general.size(); ++i) {
      if (mine.general[i].by != other.general[i].by) return false;
      if (!is_renamed(mine.general[i].expr, other.general[i].expr)) return false;
    }
    return true;
  }

  bool is_renamed(const Expr* mine, const Expr* other) const {
    if (mine->op != other->op || mine->args.size() != other->args.size()) return false;
    if (mine->is_var()) return name_of(mine->loop_id()) == other->loop_id();
    if (mine->is_const()) return mine->value == other->value;
    for (size_t i = 0; i < mine->args.size(); ++i) {
      if (!is_renamed(mine->args[i], other->args[i])) return false;
    }
    return true;
  }

  uint32_t name_of(uint32_t loop_id) const {
    for (auto at = names_.rbegin(); at != names_.rend(); ++at) {
      if (at->first == loop_id) return at->second;
    }
    return loop_id;
  }

  Replacement iteration_;
  std::vector<std::pair<uint32_t, uint32_t>> names_;  // of the loops around: mine, the other's
};

}  // namespace

std::vector<const Node*> with_iterations_taken_in(Nodes& nodes, std::vector<const Node*> found) {
  size_t at = 0;
  while (at < found.size()) {
    const Node* node = found[at];
    ++at;
    if (node->is_command() || !node->extent->is_const()) continue;
    const size_t size = node->body->nodes.size();
    const int64_t extent = node->extent->value;
    if (size == 0 || extent < 1 || extent == kInt64Max) continue;
    const Expr* longer = nodes.exprs.constant(extent + 1);
    const auto place = found.begin() + static_cast<std::ptrdiff_t>(at);
    const auto length = static_cast<std::ptrdiff_t>(size);
    if (found.size() - at >= size &&
        Comparison(nodes, node, extent).is_same(*node->body, &found[at])) {
      found.erase(place, place + length);
      --at;
      found[at] = nodes.loop(node->loop_id, longer, node->body);
    } else if (at > size &&
               Comparison(nodes, node, -1).is_same(*node->body, &found[at - 1 - size])) {
      const Body* body = Replacement(nodes, node->loop_id, 1, -1).body(node->body);
      found.erase(place - 1 - length, place - 1);
      at -= 1 + size;
      found[at] = nodes.loop(node->loop_id, longer, body);
    }
  }
  return found;
}

}  // namespace npu::rewrite
