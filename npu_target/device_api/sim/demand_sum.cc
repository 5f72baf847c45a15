#include "sim/demand_sum.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/error.h"

namespace npu::sim {
namespace {

class DemandSum {
 public:
  DemandSum(const Program& program, const HostCode& code, const RunControl& control)
      : program_(program), code_(code), control_(control), variables_(program.slot_count, 0) {
    once_ = added(program.body);
    once_.instructions += next_step();  // the program's end
  }

  HostDemand sum() {
    const Work all = with_loops(once_, 0, loops_.size());
    return {all.instructions, all.commands, code_.loop_bytes, code_.once_bytes};
  }

 private:
  struct Work {
    uint64_t instructions = 0;
    uint64_t commands = 0;
    uint64_t iterations = 0;  // of loops
  };
  struct Loop {
    uint32_t slot;
    uint32_t extent;
    size_t end = 0;  // of the loops inside, which are those from the next one on
    Work entry = {};
    Work once = {};        // of an iteration, but for loops in it
    bool varies = false;   // its variable decides how often loops inside of it go round
    bool is_open = false;  // a variable of a loop around decides what it does
    bool is_known = false;
    Work known = {};  // of all iterations, where no loop around decides it
  };

  uint32_t next_step() { return code_.steps[step_++].instructions; }

  // Of the commands directly in a body; its loops follow each other in `loops_`.
  Work added(const std::vector<Node>& body) {
    Work once;
    for (const Node& node : body) {
      if (node.kind == Node::Kind::kLoop) {
        add_loop(node);
      } else {
        once.instructions += next_step();
        ++once.commands;
      }
    }
    return once;
  }

  void add_loop(const Node& node) {
    const size_t index = loops_.size();
    loops_.push_back({node.slot, node.extent});
    loops_.back().entry.instructions = next_step();
    find_what_decides(node.extent);
    around_.push_back(index);
    Work once = added(node.body);
    around_.pop_back();
    once.instructions += next_step();
    once.iterations = 1;
    loops_[index].once = once;
    loops_[index].end = loops_.size();
  }

  // How often the last loop goes round.
  void find_what_decides(uint32_t extent) {
    for (const uint32_t index : program_.exprs.nodes_of(extent)) {
      const ExprNode& node = program_.exprs.nodes[index];
      if (node.op != Op::kVar) continue;
      bool is_inside = false;
      for (const size_t around : around_) {
        Loop& loop = loops_[around];
        if (is_inside) loop.is_open = true;
        if (loop.slot == node.slot) loop.varies = is_inside = true;
      }
      if (is_inside) loops_.back().is_open = true;
    }
  }

  // What is done once, and what the loops in it do.
  Work with_loops(const Work& once, size_t first, size_t end) {
    Work all = once;
    for (size_t index = first; index < end; index = loops_[index].end) add(all, work_of(index), 1);
    return all;
  }

  Work work_of(size_t index) {
    Loop& loop = loops_[index];
    if (loop.is_known) return loop.known;
    Work all = loop.entry;
    const int64_t extent = program_.exprs.evaluate(loop.extent, variables_, scratch_);
    const int64_t alike = loop.varies ? 1 : extent;
    for (int64_t iteration = 0; iteration < extent; iteration += alike) {
      variables_[loop.slot] = iteration;
      control_.poll_at(++gone_through_);
      add(all, with_loops(loop.once, index + 1, loop.end), static_cast<uint64_t>(alike));
    }
    loop.is_known = !loop.is_open;
    loop.known = all;
    return all;
  }

  void add(Work& all, const Work& work, uint64_t times) const {
    const uint64_t most = control_.max_steps;
    uint64_t iterations = 0;
    const bool overflows = __builtin_mul_overflow(work.iterations, times, &iterations);
    if (most != 0 && (overflows || iterations > most - all.iterations)) {
      throw LimitError(-1, "program '" + program_.name + "': needs at most " +
                               std::to_string(most) + " loop iterations, has more");
    }
    all.instructions += work.instructions * times;
    all.commands += work.commands * times;
    all.iterations += iterations;
  }

  const Program& program_;
  const HostCode& code_;
  const RunControl& control_;
  std::vector<Loop> loops_;
  std::vector<size_t> around_;  // loops around what is added
  Work once_;                   // of the whole, but for loops
  size_t step_ = 0;
  std::vector<int64_t> variables_;
  std::vector<int64_t> scratch_;
  uint64_t gone_through_ = 0;  // iterations
};

}  // namespace

HostDemand demand_sum(const Program& program, const HostCode& code, const RunControl& control) {
  return DemandSum(program, code, control).sum();
}

}  // namespace npu::sim
