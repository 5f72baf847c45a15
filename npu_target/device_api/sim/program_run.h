// Running a program's loops: the exact command stream, as the host core would issue it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/command.h"
#include "sim/error.h"
#include "sim/host_core.h"
#include "sim/program.h"
#include "sim/program_code.h"

namespace npu::sim {

// What keeps a run from going on for ever. Loop iterations count, commands or not.
struct RunControl {
  uint64_t max_steps = 0;                // 0: no bound
  std::function<void()> poll = nullptr;  // called now and then; stops the run by throwing

  // Calls it, of many times that this is called with one step more.
  void poll_at(uint64_t step) const {
    if (step % kStepsPerPoll == 0 && poll) poll();
  }

 private:
  static constexpr uint64_t kStepsPerPoll = 1 << 14;
};

// Of a host whose code comes from a memory that nobody else uses.
struct NoDelay {
  uint64_t operator()(uint32_t, bool, uint64_t) const { return 0; }
};

// Runs through a program's flat code and hands out its commands in order.
template <typename Fn, typename Delay>
class ProgramRunner {
 public:
  // `addresses` is one per argument. `fn` takes (const Command&, uint32_t host_cycles): the cycles
  // the host core spends from the command before to this one. `delay` is that of HostCore::run.
  ProgramRunner(const Program& program, const std::vector<uint64_t>& addresses,
                const RunControl& control, HostCore& host, Fn& fn, Delay& delay)
      : program_(program),
        code_(program, addresses),
        values_(code_.values.data()),
        control_(control),
        host_(host),
        fn_(fn),
        delay_(delay),
        variables_(program.slot_count, 0),
        loops_(code_.loops.size()) {
    host_.begin(code_);
  }

  void run() {
    const Instruction* next = code_.instructions.data();
    for (;;) {
      next = after_loops(next);
      if (next->kind == Instruction::Kind::kEnd) {
        host_.run_and_count(*next, pending_cycles_, delay_);
        return;
      }
      // Only before the first command of a row is there anything else that the host has done.
      uint64_t since = std::exchange(pending_cycles_, 0);
      do {
        issue(*next, since);
        since = 0;
      } while ((++next)->kind == Instruction::Kind::kCommand);
    }
  }

 private:
  struct LoopState {
    int64_t iteration;
    int64_t extent;
  };

  const Instruction* at(uint32_t position) const { return &code_.instructions[position]; }

  // From `next` on the first instruction that is not a loop's.
  const Instruction* after_loops(const Instruction* next) {
    for (;;) {
      if (next->kind == Instruction::Kind::kIterate) {
        pending_cycles_ += host_.run_and_count(*next, pending_cycles_, delay_);
        if (iterate(next->index)) {
          next = at(next->target);
        } else {
          pending_cycles_ += host_.leave(*next++);
        }
      } else if (next->kind == Instruction::Kind::kLoop) {
        pending_cycles_ += host_.run_and_count(*next, pending_cycles_, delay_);
        next = begin_loop(next->index) ? next + 1 : at(next->target);
      } else {
        return next;
      }
    }
  }

  // Whether the loop has a first iteration, which begins then.
  bool begin_loop(uint32_t index) {
    const LoopCode& loop = code_.loops[index];
    const int64_t extent = program_.exprs.evaluate(loop.extent, variables_, scratch_);
    if (extent <= 0) return false;
    loops_[index] = {0, extent};
    begin_iteration(loop, 0);
    return true;
  }

  // Whether it has another one.
  bool iterate(uint32_t index) {
    const LoopCode& loop = code_.loops[index];
    LoopState& state = loops_[index];
    if (++state.iteration < state.extent) {
      begin_iteration(loop, state.iteration);
      step_values(loop, 1);
      return true;
    }
    // Back to how the first iteration finds them.
    step_values(loop, uint64_t{1} - static_cast<uint64_t>(state.extent));
    return false;
  }

  void step_values(const LoopCode& loop, uint64_t times) {
    for (uint32_t i = loop.first_step; i < loop.step_end; ++i) {
      values_[code_.steps[i].value] += code_.steps[i].increment * times;
    }
  }

  // The host comes to a command `since` cycles after the one before.
  void issue(const Instruction& instruction, uint64_t since) {
    const uint64_t* values = values_ + instruction.index;
    Command command{instruction.funct, values[0], values[1]};
    if (instruction.first_general != instruction.general_end) add_general(instruction, command);
    const uint64_t cycles = since + host_.run(instruction, since, delay_);
    fn_(command, static_cast<uint32_t>(std::min<uint64_t>(cycles, UINT32_MAX)));
  }

  // Out of the way of the many commands that have none.
  [[gnu::noinline]] void add_general(const Instruction& instruction, Command& command) {
    for (uint32_t i = instruction.first_general; i < instruction.general_end; ++i) {
      const GeneralTerm& term = code_.general[i];
      const int64_t expr = program_.exprs.evaluate(term.expr, variables_, scratch_);
      (term.is_rs2 ? command.rs2 : command.rs1) += term.coefficient * static_cast<uint64_t>(expr);
    }
  }

  void begin_iteration(const LoopCode& loop, int64_t iteration) {
    count_step();
    variables_[loop.slot] = iteration;
  }

  void count_step() {
    ++steps_;
    if (control_.max_steps != 0 && steps_ > control_.max_steps) {
      throw LimitError(-1, "program '" + program_.name + "': needs at most " +
                               std::to_string(control_.max_steps) + " loop iterations, has more");
    }
    control_.poll_at(steps_);
  }

  const Program& program_;
  ProgramCode code_;
  uint64_t* const values_;  // of the code: they change
  const RunControl& control_;
  HostCore& host_;
  Fn& fn_;
  Delay& delay_;
  std::vector<int64_t> variables_;
  std::vector<LoopState> loops_;
  std::vector<int64_t> scratch_;
  uint64_t pending_cycles_ = 0;
  uint64_t steps_ = 0;
};

// `host` is the core that runs it, whose cache holds what a run before left there.
template <typename Fn, typename Delay = NoDelay>
void for_each_command(const Program& program, const std::vector<uint64_t>& addresses,
                      const RunControl& control, HostCore& host, Fn fn, Delay delay = {}) {
  ProgramRunner<Fn, Delay>(program, addresses, control, host, fn, delay).run();
}

template <typename Fn>
void for_each_command(const Program& program, const std::vector<uint64_t>& addresses,
                      const RunControl& control, Fn fn) {
  HostCore host(program.host);
  for_each_command(program, addresses, control, host, fn);
}

}  // namespace npu::sim
