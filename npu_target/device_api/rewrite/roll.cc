#include "rewrite/roll.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "rewrite/iterations.h"
#include "rewrite/shapes.h"

namespace npu::rewrite {
namespace {

// Instructions in whose time the host fetches the code of a command (two instructions or three, 49
// cycles for 16).
constexpr int64_t kFetching = 6;
// A long part in a loop needs more registers than there are: what it begins with is made at once
// and kept in memory, and the device waits for it. So many nodes are long, in a program of so few.
constexpr int64_t kLong = 32;
constexpr int64_t kShortProgram = 500;
// Of nodes with loops of the device's own, so few are left as they are: their code comes from
// memory while the device is busy with the loops, and what a loop of the host begins with would
// keep the first of them waiting.
constexpr int64_t kBesideLoops = 256;

using Deltas = std::vector<Wide>;

// By how much the words of the other begin later.
Deltas deltas_of(const Shape& shape, const Shape& other) {
  Deltas deltas;
  deltas.reserve(shape.words.size());
  for (size_t i = 0; i < shape.words.size(); ++i) {
    deltas.push_back(Wide{other.words[i].base} - Wide{shape.words[i].base});
  }
  return deltas;
}

// A word without the numbers of its rows, which may be negative before loops add to them.
Wide without_rows(Wide word, const std::vector<BitField>& rows) {
  for (const BitField& bits : rows) {
    const Wide size = Wide{1} << bits.width;
    Wide number = floor_mod(word >> bits.low, size);
    if (number >= size / 2) number -= size;
    word -= number * (Wide{1} << bits.low);
  }
  return word;
}

// Whether operands may advance by so much: rows and addresses may, settings and what is said of
// rows besides their number may not.
bool may_run(const Shape& shape, const Deltas& deltas) {
  for (size_t i = 0; i < deltas.size(); ++i) {
    const Shape::Word& word = shape.words[i];
    if (deltas[i] == 0 || word.rows == nullptr) continue;
    const Wide base = word.base;
    if (without_rows(base, *word.rows) != without_rows(base + deltas[i], *word.rows)) return false;
  }
  return true;
}

// Where repeats begin, of how many nodes each, and how many.
struct Repeats {
  size_t at;
  size_t period;
  int64_t count;
};

class Roller {
 public:
  Roller(Nodes& nodes, const CommandSet& commands, const Body* body)
      : nodes_(nodes), commands_(commands), shapes_(commands) {
    int64_t size = 0;
    for_each_node(*body, [&](const Node& node) {
      ++size;
      if (node.is_loop()) used_ids_.insert(node.loop_id);
    });
    takes_long_ = size > kShortProgram;
  }

  // A body that is run so many times.
  std::vector<Shape> body(const Body& body, int64_t times) {
    std::vector<Shape> found;
    found.reserve(body.nodes.size());
    for (const Node* node : with_iterations_taken_in(nodes_, body.nodes)) {
      if (node->is_command()) {
        found.push_back(shapes_.command(node));
        continue;
      }
      shapes_.enter(node);
      const std::vector<Shape> parts =
          this->body(*node->body, saturated_product(times, node->fixed_extent()));
      shapes_.leave();
      found.push_back(
          shapes_.loop(nodes_.loop(node->loop_id, node->extent, body_of(parts)), parts));
    }
    while (found.size() > 1) {
      const std::optional<Repeats> repeats = best(found, times);
      if (!repeats) break;
      const Shape loop = shapes_.of(looped(&found[repeats->at], *repeats));
      const auto first = found.begin() + static_cast<std::ptrdiff_t>(repeats->at);
      const auto nodes = static_cast<std::ptrdiff_t>(repeats->period) * repeats->count;
      found.erase(first + 1, first + nodes);
      found[repeats->at] = loop;
    }
    return found;
  }

  const Body* body_of(const std::vector<Shape>& shapes) {
    std::vector<const Node*> found;
    found.reserve(shapes.size());
    for (const Shape& shape : shapes) found.push_back(shape.node);
    return nodes_.body(std::move(found));
  }

 private:
  // Those that save most.
  std::optional<Repeats> best(const std::vector<Shape>& shapes, int64_t times) const {
    std::optional<Repeats> best;
    int64_t most = 0;
    for (const size_t period : periods_of(shapes)) {
      for (size_t at = 0; at + 2 * period <= shapes.size(); ++at) {
        if (!is_alike(shapes, at, at + period, period)) continue;
        const int64_t count = repeats_at(shapes, at, period);
        if (count < 2) continue;
        const int64_t saved = saved_by(&shapes[at], {at, period, count}, times);
        if (saved > most) {
          best = {at, period, count};
          most = saved;
        }
      }
    }
    return best;
  }

  // How far apart the next ones alike are.
  static std::set<size_t> periods_of(const std::vector<Shape>& shapes) {
    std::set<size_t> periods;
    std::unordered_map<uint32_t, size_t> behind;  // the next one of each number
    for (size_t at = shapes.size(); at-- > 0;) {
      const auto [next, is_first] = behind.emplace(shapes[at].number, at);
      if (is_first) continue;
      periods.insert(next->second - at);
      next->second = at;
    }
    return periods;
  }

  static bool is_alike(const std::vector<Shape>& shapes, size_t at, size_t other, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (shapes[at + i].number != shapes[other + i].number) return false;
    }
    return true;
  }

  // How often nodes alike come from one on, their operands advancing evenly. The first two are
  // alike.
  static int64_t repeats_at(const std::vector<Shape>& shapes, size_t at, size_t period) {
    std::vector<Deltas> deltas;
    for (size_t i = at; i < at + period; ++i) {
      deltas.push_back(deltas_of(shapes[i], shapes[i + period]));
      if (!may_run(shapes[i], deltas.back())) return 1;
    }
    int64_t count = 2;
    for (size_t start = at + period; start + 2 * period <= shapes.size(); start += period) {
      if (!is_alike(shapes, start, start + period, period)) break;
      for (size_t i = 0; i < period; ++i) {
        if (deltas_of(shapes[start + i], shapes[start + i + period]) != deltas[i]) return count;
      }
      ++count;
    }
    return count;
  }

  // Instructions in whose time the code is fetched that a loop leaves out, less those that it
  // takes.
  int64_t saved_by(const Shape* first, const Repeats& repeats, int64_t times) const {
    int64_t size = 0;
    bool is_beside_loops = false;
    std::set<Wide> running;
    for (size_t i = 0; i < repeats.period; ++i) {
      size += first[i].size;
      is_beside_loops |= is_looping(first[i].node);
      for (const Wide delta : deltas_of(first[i], first[i + repeats.period])) {
        if (delta != 0) running.insert(delta);
      }
    }
    if (size > kLong && !takes_long_) return 0;
    if (is_beside_loops && saturated_product(size, repeats.count) <= kBesideLoops) return 0;
    const auto each = static_cast<int64_t>(2 + running.size());
    const int64_t taken = saturated_product(saturated_product(times, repeats.count), each);
    return saturated_sum(kFetching * (repeats.count - 1) * size, -taken);
  }

  // A loop, by its first two iterations.
  const Node* looped(const Shape* first, const Repeats& repeats) {
    const uint32_t loop_id = free_id();
    std::vector<const Node*> body;
    for (size_t i = 0; i < repeats.period; ++i) {
      const Deltas deltas = deltas_of(first[i], first[i + repeats.period]);
      const Wide* next = deltas.data();
      body.push_back(running(first[i].node, loop_id, next));
    }
    return nodes_.loop(loop_id, nodes_.exprs.constant(repeats.count), nodes_.body(std::move(body)));
  }

  const Node* running(const Node* node, uint32_t loop_id, const Wide*& next) {
    if (node->is_command()) {
      const Operand* rs1 = running(node->rs1, loop_id, *next++);
      const Operand* rs2 = running(node->rs2, loop_id, *next++);
      return nodes_.command(node->funct, rs1, rs2);
    }
    std::vector<const Node*> body;
    for (const Node* part : node->body->nodes) body.push_back(running(part, loop_id, next));
    return nodes_.loop(node->loop_id, node->extent, nodes_.body(std::move(body)));
  }

  const Operand* running(const Operand* operand, uint32_t loop_id, Wide delta) {
    if (wrapped(delta) == 0) return operand;
    Operand found = *operand;
    found.steps.push_back({loop_id, wrapped(delta)});
    std::sort(found.steps.begin(), found.steps.end());
    return nodes_.operand(std::move(found));
  }

  uint32_t free_id() {
    while (used_ids_.count(next_id_) != 0) ++next_id_;
    return next_id_++;
  }

  // Whether a node starts a loop of the device's own.
  bool is_looping(const Node* node) const {
    if (node->is_loop()) {
      const auto& nodes = node->body->nodes;
      return std::any_of(nodes.begin(), nodes.end(),
                         [this](const Node* inner) { return is_looping(inner); });
    }
    const CommandClass* found = commands_.find(node->funct, node->rs1->base);
    return found != nullptr && found->is_looping;
  }

  Nodes& nodes_;
  const CommandSet& commands_;
  Shapes shapes_;
  std::unordered_set<uint32_t> used_ids_;
  uint32_t next_id_ = 1;
  bool takes_long_ = false;
};

}  // namespace

const Body* rolled(Nodes& nodes, const CommandSet& commands, const Body* body) {
  Roller roller(nodes, commands, body);
  return roller.body_of(roller.body(*body, 1));
}

}  // namespace npu::rewrite
