// Conditions that follow each other: how many of their branches run.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "sim/expression.h"

namespace npu::sim {

// Conditions with nothing but commands between them. Compilers join these: what the branches before
// have decided is not asked again, the paths part. Of loops' variables that are compared with
// numbers it is known which values take a path; of anything else, that it comes out either way.
class HostBranches {
 public:
  // The iterations of the loop in a slot, 0 if they are not fixed or it is no loop.
  using Extent = std::function<uint64_t(uint32_t slot)>;
  HostBranches(const ExprTable& exprs, Extent extent_of)
      : nodes_(exprs.nodes), extent_of_(std::move(extent_of)) {}

  // What a condition has that its branches are made of, and no operation computes: comparisons,
  // their opposites, and what joins them.
  std::set<uint32_t> nodes_of(uint32_t condition) const;
  // What the comparisons among these compare with.
  std::vector<uint64_t> numbers_in(const std::set<uint32_t>& branching) const;
  // How many branches the next condition takes in the mean; what is rounded goes on to the next.
  uint32_t take(uint32_t condition);
  // Something else stands between.
  void forget() { paths_.clear(); }

 private:
  // Of a loop's variable: those from the least to the greatest, without some.
  struct Values {
    uint32_t slot;
    int64_t least;
    int64_t greatest;
    std::vector<int64_t> without;

    bool is_empty() const;
    // How many there are from 0 up to the extent.
    int64_t count_below(int64_t extent) const;
  };
  struct Path {
    double share = 1;                              // of all turns
    std::vector<Values> values;                    // of variables compared so far
    std::vector<std::pair<uint32_t, bool>> known;  // other conditions
  };
  using Decided = std::vector<std::pair<Path, bool>>;
  void add_nodes(uint32_t index, std::set<uint32_t>& branching) const;
  bool is_opposite(const ExprNode& node) const;
  bool tells_apart(uint32_t slot) const;
  void decide(uint32_t condition, Path path, Decided& ends);
  void compare(const ExprNode& comparison, uint32_t slot, Path path, Decided& ends);
  void ask(uint32_t condition, Path path, Decided& ends);
  static std::pair<Values, Values> parted(const ExprNode& comparison, bool is_variable_first,
                                          int64_t number, const Values& values);
  double share_of(const Values& values) const;

  const std::vector<ExprNode>& nodes_;
  const Extent extent_of_;
  std::vector<Path> paths_;
  double asked_ = 0;
  uint32_t taken_ = 0;
};

}  // namespace npu::sim
