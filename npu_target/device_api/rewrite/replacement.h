// Programs with a loop's variable replaced by a multiple of it and a number.
#pragma once

#include <cstdint>

#include "rewrite/nodes.h"

namespace npu::rewrite {

// factor x the variable of a loop + offset, in place of that variable.
class Replacement {
 public:
  Replacement(Nodes& nodes, uint32_t loop_id, int64_t factor, int64_t offset)
      : nodes_(nodes), loop_id_(loop_id), factor_(factor), offset_(offset) {}

  // A body that is inside of the loop.
  const Body* body(const Body* body);
  const Operand* operand(const Operand* operand);
  const Expr* expr(const Expr* expr);

 private:
  const Node* node(const Node* node);

  Nodes& nodes_;
  const uint32_t loop_id_;
  const int64_t factor_;
  const int64_t offset_;
  ExprMap exprs_;
};

}  // namespace npu::rewrite
