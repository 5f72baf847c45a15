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
  void run_body(const std::vector<Node>& body) {
    for (const Node& node : body) {
      if (node.is_loop) {
        run_loop(node);
      } else {
        const Command command{node.funct, value_of(node.rs1), value_of(node.rs2)};
        const uint64_t cycles = pending_cycles_ + node.host_cycles;
        pending_cycles_ = 0;
        fn_(command, static_cast<uint32_t>(std::min<uint64_t>(cycles, UINT32_MAX)));
      }
    }
  }

  void run_loop(const Node& loop) {
    const int64_t extent = program_.exprs.evaluate(loop.extent, variables_, scratch_);
    for (int64_t i = 0; i < extent; ++i) {
      count_step();
      variables_[loop.slot] = i;
      pending_cycles_ += static_cast<uint64_t>(program_.config.host_cycles_per_iteration);
      run_body(loop.body);
    }
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
};

template <typename Fn>
void for_each_command(const Program& program, const std::vector<uint64_t>& addresses,
                      const RunControl& control, Fn fn) {
  ProgramRunner<Fn>(program, addresses, control, fn).run();
}

}  // namespace npu::sim
