// How often each command of a program runs, told from its loops without running them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/program.h"

namespace npu::sim {

// Goes through a program once and is told of each command.
//
// Counts are kept twice. The likely ones take loops whose extent is not known as entered once, the
// sure ones as not entered: nothing that the latter count can be missing from a run. All are whole
// numbers, which a double holds exactly up to 2^53: more than a device runs in a day.
class CommandCounter {
 public:
  explicit CommandCounter(const Program& program)
      : program_(program), extents_(program.slot_count), variables_(program.slot_count, 0) {}
  virtual ~CommandCounter() = default;

  // Goes through the program.
  void count() { count(program_.body, 1, 1, false); }

  // Likely ones, of all loops together.
  double iterations() const { return iterations_; }

 protected:
  // Takes in a command that runs about `times` times, `sure` times at least.
  virtual void command(const Node& command, double times, double sure) = 0;
  // Comes to a loop. Returns whether it has something to tell the commands in it, until `end`: then
  // it is not asked of the loops inside.
  virtual bool begin(const Node& /*loop*/) { return false; }
  virtual void end() {}

  // What a word is in the middle of the loops around, without terms that are no sums.
  uint64_t middle(const Operand& word) const;
  // The mean extent of a loop, or share of the iterations in which a condition holds; none where
  // that is not known.
  std::optional<double> mean_extent(uint32_t extent);

  const Program& program_;

 private:
  void count(const std::vector<Node>& body, double times, double sure, bool is_told);
  std::optional<double> share_of_comparison(const ExprNode& value) const;
  std::optional<double> mean_value(uint32_t value);

  double iterations_ = 0;
  std::vector<std::optional<int64_t>> extents_;  // of the loops so far, by slot: fixed ones
  std::vector<int64_t> variables_;
  std::vector<int64_t> scratch_;
};

// How often commands likely run in a body that is run so many times; loops whose extent is not
// known are taken as entered once. Calls visit(command, times).
template <typename Visit>
void for_each_likely(const Program& program, const std::vector<Node>& body, double times,
                     const Visit& visit) {
  for (const Node& node : body) {
    if (node.kind == Node::Kind::kCommand) {
      visit(node, times);
      continue;
    }
    const ExprNode& extent = program.exprs.nodes[node.extent];
    const double turns = extent.op == Op::kConst ? static_cast<double>(extent.value) : 1;
    for_each_likely(program, node.body, times * std::max(0.0, turns), visit);
  }
}

}  // namespace npu::sim
