// Running a program's loops: the exact command stream, as the host core would issue it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "command.h"
#include "error.h"
#include "program.h"

namespace npu::sim {

// What keeps a run from going on for ever. Loop iterations count, commands or not.
struct RunControl {
  uint64_t max_steps = 0;                // 0: no bound
  std::function<void()> poll = nullptr;  // called now and then; stops the run by throwing
};

// Walks the loops of a program and hands out its commands in order.
template <typename Fn>
class ProgramRunner {
 public:
  // `addresses` is one per argument. `fn` takes (const Command&, uint32_t host_cycles): the cycles
  // the host core spends from the command before to this one.
  ProgramRunner(const Program& program, const std::vector<uint64_t>& addresses,
                const RunControl& control, Fn& fn)
      : program_(program),
        addresses_(addresses),
        control_(control),
        fn_(fn),
        variables_(program.slot_count, 0) {
    if (addresses.size() != program.arguments.size()) {
      throw SimError(ErrorKind::kBadProgram, -1,
                     "program '" + program.name + "': needs " +
                         std::to_string(program.arguments.size()) + " argument addresses, has " +
                         std::to_string(addresses.size()));
    }
  }

  void run() { run_body(program_.body); }

 private:
  // Where a filler stands: one frame a loop that it is inside of.
  struct Frame {
    const std::vector<Node>* body;
    size_t next;
    const Node* loop;  // nullptr for the filler itself
    int64_t iteration;
    int64_t extent;
  };

  struct Weaving {
    const std::vector<Filler>& fillers;
    size_t current;             // the filler that is next
    std::vector<Frame> frames;  // where it stands
    uint32_t until_gap;         // commands of the body before the next gap
  };

  void run_body(const std::vector<Node>& body) {
    for (const Node& node : body) {
      switch (node.kind) {
        case Node::Kind::kLoop:
          run_loop(node);
          break;
        case Node::Kind::kCommand:
          if (weaving_ != nullptr) weave_before_command();
          issue(node);
          break;
        case Node::Kind::kWeave:
          run_weave(node);
          break;
      }
    }
  }

  void run_loop(const Node& loop) {
    const int64_t extent = extent_of(loop);
    for (int64_t i = 0; i < extent; ++i) {
      begin_iteration(loop, i);
      run_body(loop.body);
    }
  }

  void run_weave(const Node& node) {
    Weaving weaving{node.fillers, 0, {}, 0};
    begin_filler(weaving, 0);
    weaving_ = &weaving;  // weaves do not nest
    run_body(node.body);
    while (fill_gap(weaving)) {
    }
    weaving_ = nullptr;
  }

  void begin_filler(Weaving& weaving, size_t index) {
    weaving.current = index;
    weaving.frames.clear();
    if (index < weaving.fillers.size()) {
      weaving.frames.push_back({&weaving.fillers[index].body, 0, nullptr, 0, 0});
    }
  }

  void weave_before_command() {
    Weaving& weaving = *weaving_;
    if (weaving.until_gap == 0) {
      if (!fill_gap(weaving)) weaving.until_gap = UINT32_MAX;
    }
    --weaving.until_gap;
  }

  // Issues what goes into a gap; false when no filler has anything left.
  bool fill_gap(Weaving& weaving) {
    for (; weaving.current < weaving.fillers.size(); begin_filler(weaving, weaving.current + 1)) {
      const Filler& filler = weaving.fillers[weaving.current];
      uint32_t issued = 0;
      while (issued < filler.burst && issue_next_of(weaving.frames)) ++issued;
      if (issued > 0) {
        weaving.until_gap = filler.period;
        return true;
      }
    }
    return false;
  }

  // Issues the next command of a filler; false when there is none left.
  bool issue_next_of(std::vector<Frame>& frames) {
    while (!frames.empty()) {
      Frame& frame = frames.back();
      if (frame.next < frame.body->size()) {
        const Node& node = (*frame.body)[frame.next++];
        if (node.kind == Node::Kind::kCommand) {
          issue(node);
          return true;
        }
        const int64_t extent = extent_of(node);
        if (extent > 0) {
          begin_iteration(node, 0);
          frames.push_back({&node.body, 0, &node, 0, extent});
        }
      } else if (frame.loop != nullptr && frame.iteration + 1 < frame.extent) {
        frame.next = 0;
        begin_iteration(*frame.loop, ++frame.iteration);
      } else {
        frames.pop_back();
      }
    }
    return false;
  }

  void issue(const Node& node) {
    const Command command{node.funct, value_of(node.rs1), value_of(node.rs2)};
    const uint64_t cycles = pending_cycles_ + node.host_cycles;
    pending_cycles_ = 0;
    fn_(command, static_cast<uint32_t>(std::min<uint64_t>(cycles, UINT32_MAX)));
  }

  int64_t extent_of(const Node& loop) {
    return program_.exprs.evaluate(loop.extent, variables_, scratch_);
  }

  void begin_iteration(const Node& loop, int64_t iteration) {
    count_step();
    variables_[loop.slot] = iteration;
    pending_cycles_ += static_cast<uint64_t>(program_.config.host_cycles_per_iteration);
  }

  void count_step() {
    ++steps_;
    if (control_.max_steps != 0 && steps_ > control_.max_steps) {
      throw SimError(ErrorKind::kTimedOut, -1,
                     "program '" + program_.name + "': needs at most " +
                         std::to_string(control_.max_steps) + " loop iterations, has more");
    }
    if (control_.poll && steps_ % kStepsPerPoll == 0) control_.poll();
  }

  uint64_t value_of(const Operand& operand) {
    uint64_t value = operand.base;
    if (operand.address >= 0) value += addresses_[static_cast<size_t>(operand.address)];
    for (const Operand::Step& step : operand.steps) {
      value += step.increment * static_cast<uint64_t>(variables_[step.slot]);
    }
    for (const Operand::General& term : operand.general) {
      const int64_t expr = program_.exprs.evaluate(term.expr, variables_, scratch_);
      value += term.coefficient * static_cast<uint64_t>(expr);
    }
    return value;
  }

  static constexpr uint64_t kStepsPerPoll = 1 << 14;

  const Program& program_;
  const std::vector<uint64_t>& addresses_;
  const RunControl& control_;
  Fn& fn_;
  std::vector<int64_t> variables_;
  std::vector<int64_t> scratch_;
  uint64_t pending_cycles_ = 0;
  uint64_t steps_ = 0;
  Weaving* weaving_ = nullptr;
};

template <typename Fn>
void for_each_command(const Program& program, const std::vector<uint64_t>& addresses,
                      const RunControl& control, Fn fn) {
  ProgramRunner<Fn>(program, addresses, control, fn).run();
}

}  // namespace npu::sim
