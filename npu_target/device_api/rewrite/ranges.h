// Expressions made simpler by what is known of the loops around them: ranges of values.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "rewrite/expr.h"
#include "rewrite/interner.h"
#include "rewrite/numbers.h"

namespace npu::rewrite {

struct Range {
  int64_t least = kInt64Min;
  int64_t greatest = kInt64Max;

  bool operator==(const Range& other) const {
    return least == other.least && greatest == other.greatest;
  }
};

// Which values the variables of loops have; of a loop that is not in it nothing is known.
struct LoopRanges {
  struct Loop {
    uint32_t id;
    Range range;

    bool operator==(const Loop& other) const { return id == other.id && range == other.range; }
  };
  Few<Loop, 6> loops;  // by id

  // With another loop, or another range of one; and without one.
  LoopRanges with(uint32_t loop_id, Range range) const;
  LoopRanges without(uint32_t loop_id) const;
  Range of(uint32_t loop_id) const;
  uint64_t hash() const;
  bool operator==(const LoopRanges& other) const { return loops == other.loops; }
};

// Simplifies expressions over loops whose variables have such values.
class Ranges {
 public:
  Ranges(Exprs& exprs, LoopRanges loops) : exprs_(exprs), loops_(std::move(loops)) {}

  // An expression with the same value wherever the loops' variables have such values.
  const Expr* simplified(const Expr* expr) { return find(expr).expr; }
  // The least and the greatest value, or those of int64 where they are not known.
  Range of(const Expr* expr) { return find(expr).range; }

 private:
  struct Found {
    const Expr* expr;
    Range range;
  };
  Found find(const Expr* expr);
  Found make(const Expr* expr);

  Exprs& exprs_;
  const LoopRanges loops_;
  std::unordered_map<const Expr*, Found> found_;
};

// The loops around places in a program, and what was found out in them.
class Places {
 public:
  explicit Places(Exprs& exprs) : exprs_(exprs) {}

  const LoopRanges* loops(LoopRanges loops) { return loops_.get(std::move(loops)); }
  Ranges& ranges(const LoopRanges* loops);

 private:
  Exprs& exprs_;
  Interner<LoopRanges> loops_;
  std::unordered_map<const LoopRanges*, std::unique_ptr<Ranges>> ranges_;
};

}  // namespace npu::rewrite
