// Conditions that are always or never met, and neighbours that are met together.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "rewrite/nodes.h"
#include "rewrite/ranges.h"

namespace npu::rewrite {

// The same commands, without conditions that the loops around decide, and with one condition for
// neighbours that have the same.
class Decider {
 public:
  Decider(Nodes& nodes, Places& places) : nodes_(nodes), places_(places) {}

  const Body* decided(const Body* body, const LoopRanges* loops);
  // Outside of all loops.
  const Body* decided(const Body* body) { return decided(body, places_.loops({})); }

 private:
  const Body* make(const Body* body, const LoopRanges* loops);
  void add(std::vector<const Node*>& found, const Node* node, const LoopRanges* loops);
  const Operand* simplified(const Operand* operand, Ranges& ranges);

  Nodes& nodes_;
  Places& places_;
  std::unordered_map<const LoopRanges*, std::unordered_map<const Body*, const Body*>> made_;
};

}  // namespace npu::rewrite
