// Loops cut in two where a condition inside is decided from there on, so that it is not asked in
// every iteration.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "rewrite/command_set.h"
#include "rewrite/conditions.h"
#include "rewrite/loop_ids.h"
#include "rewrite/nodes.h"
#include "rewrite/ranges.h"

namespace npu::rewrite {

// Cuts loops of a device's commands, and keeps what it made of them.
class Splitter {
 public:
  Splitter(Nodes& nodes, Places& places, Decider& decider, LoopIds& loop_ids,
           const CommandSet& commands)
      : nodes_(nodes),
        places_(places),
        decider_(decider),
        loop_ids_(loop_ids),
        commands_(commands) {}

  // The same commands, with fewer questions asked in loops: inner ones, those of copies only, and,
  // whatever that takes, those with the ids `chosen` (in order).
  const Body* split(const Body* body, const std::vector<uint32_t>& chosen);

 private:
  // How often conditions are asked.
  using Asked = std::unordered_map<const Expr*, int64_t>;
  // Of loops: ranges of those around, how often they are run, which are chosen.
  using Place = std::tuple<const LoopRanges*, int64_t, std::vector<uint32_t>>;

  const Body* body(const Body* body, const LoopRanges* loops, int64_t times,
                   const std::vector<uint32_t>& chosen);
  const Body* loop(const Node* node, const LoopRanges* loops, int64_t times,
                   const std::vector<uint32_t>& chosen);
  const Body* cut(const Node* loop, const LoopRanges* loops, int64_t times, bool is_chosen);
  bool may_cut(const Node* loop) const;
  void find_cuts(const Expr* condition, const Node* loop, const LoopRanges* loops,
                 std::set<int64_t>& cuts);
  static int64_t count(const Node* loop, int64_t times, Asked& asked);

  Nodes& nodes_;
  Places& places_;
  Decider& decider_;
  LoopIds& loop_ids_;
  const CommandSet& commands_;
  std::map<Place, std::unordered_map<const Node*, const Body*>> made_;
};

}  // namespace npu::rewrite
