// Integer expressions over loop variables: extents, conditions and boundary operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace npu::sim {

enum class Op : uint8_t {
  kConst = 0,
  kVar = 1,
  kAdd = 2,
  kSub = 3,
  kMul = 4,
  kFloorDiv = 5,
  kFloorMod = 6,
  kMin = 7,
  kMax = 8,
  kLt = 9,
  kLe = 10,
  kEq = 11,
  kAnd = 12,
  kOr = 13,
  kSelect = 14,
  kTable = 15,
};

struct ExprNode {
  Op op;
  int64_t value = 0;        // kConst
  uint32_t slot = 0;        // kVar: where the loop's variable is kept; kTable: its first word
  uint32_t inputs[3] = {};  // indices of nodes before this one
  uint32_t count = 0;       // kTable: of words
};

inline int input_count(Op op) {
  if (op <= Op::kVar) return 0;
  return op == Op::kSelect ? 3 : op == Op::kTable ? 1 : 2;
}
// What an operation gives that is none of kConst, kVar and kTable. Throws SimError bad_program for
// a division by zero.
int64_t applied(Op op, int64_t a, int64_t b, int64_t c);
// Yields 0 or 1 by itself.
inline bool is_condition(Op op) { return op >= Op::kLt && op <= Op::kOr; }

// Evaluates over int64 that wraps. One pass in order: nodes shared by several users are
// evaluated once.
class ExprTable {
 public:
  // Throws SimError bad_program when the expressions together are too large to be meant.
  void prepare_root(uint32_t root);

  // `root` must have been prepared; `variables` is indexed by slot. Throws SimError bad_program
  // on a division by zero and on an index that is none of a table's. `scratch` is the caller's,
  // empty at first and to be reused between calls, for which it keeps the constants.
  int64_t evaluate(uint32_t root, const std::vector<int64_t>& variables,
                   std::vector<int64_t>& scratch) const;

  // Nodes one after the other.
  class Range {
   public:
    Range(const uint32_t* begin, const uint32_t* end) : begin_(begin), end_(end) {}
    const uint32_t* begin() const { return begin_; }
    const uint32_t* end() const { return end_; }

   private:
    const uint32_t* begin_;
    const uint32_t* end_;
  };
  // The nodes a prepared root is made of that are no constants, in order of evaluation.
  Range nodes_of(uint32_t root) const {
    const Prepared& found = prepared_[root];
    return {order_.data() + found.begin, order_.data() + found.end};
  }

  std::vector<ExprNode> nodes;
  std::vector<int64_t> words;  // of all tables

 private:
  void hold_constants(std::vector<int64_t>& scratch) const;

  // Where in `order_` a root's nodes are.
  struct Prepared {
    bool is_known = false;
    size_t begin = 0;
    size_t end = 0;
  };
  std::vector<Prepared> prepared_;  // by node
  std::vector<uint32_t> order_;     // the nodes of prepared roots, one root's after another's
  std::vector<uint32_t> seen_at_;   // by node: the root that was prepared when it was seen last
  size_t total_reachable_ = 0;
};

}  // namespace npu::sim
