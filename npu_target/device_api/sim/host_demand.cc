#include "sim/host_demand.h"

#include <string>

#include "sim/error.h"

namespace npu::sim {
namespace {

NoDelay no_delay;

}  // namespace

HostDemandCounter::HostDemandCounter(const Program& program, const RunControl& control)
    : program_(program),
      control_(control),
      code_(program, program.default_addresses()),
      host_(program.host),
      varies_(code_.loops.size(), false),
      variables_(program.slot_count, 0) {
  host_.begin(code_);
  find_what_varies();
}

HostDemand HostDemandCounter::count() {
  const auto end = static_cast<uint32_t>(code_.instructions.size() - 1);
  run(0, end);
  host_.run_and_count(code_.instructions[end], 0, no_delay);
  return {host_.work().instructions, commands_, code_.loop_bytes, code_.once_bytes};
}

void HostDemandCounter::find_what_varies() {
  std::vector<uint32_t> around;
  for (const Instruction& instruction : code_.instructions) {
    if (instruction.kind == Instruction::Kind::kLoop) {
      for (const uint32_t node : program_.exprs.nodes_of(code_.loops[instruction.index].extent)) {
        if (program_.exprs.nodes[node].op != Op::kVar) continue;
        for (const uint32_t loop : around) {
          if (code_.loops[loop].slot == program_.exprs.nodes[node].slot) varies_[loop] = true;
        }
      }
      around.push_back(instruction.index);
    } else if (instruction.kind == Instruction::Kind::kIterate) {
      around.pop_back();
    }
  }
}

// The instructions of a body.
void HostDemandCounter::run(uint32_t from, uint32_t to) {
  while (from < to) {
    const Instruction& instruction = code_.instructions[from];
    if (instruction.kind == Instruction::Kind::kCommand) {
      host_.run(instruction, 0, no_delay);
      ++commands_;
      ++from;
    } else {
      run_loop(from);
      from = instruction.target;
    }
  }
}

void HostDemandCounter::run_loop(uint32_t entry) {
  const Instruction& instruction = code_.instructions[entry];
  const LoopCode& loop = code_.loops[instruction.index];
  const uint32_t bottom = instruction.target - 1;
  host_.run_and_count(instruction, 0, no_delay);
  const int64_t extent = program_.exprs.evaluate(loop.extent, variables_, scratch_);
  for (int64_t iteration = 0; iteration < extent; ++iteration) {
    const HostWork work_before = host_.work();
    const uint64_t commands_before = commands_;
    const uint64_t steps_before = steps_;
    variables_[loop.slot] = iteration;
    count_steps(1, 1);
    control_.poll_at(++since_poll_);
    run(entry + 1, bottom);
    host_.run_and_count(code_.instructions[bottom], 0, no_delay);
    if (varies_[instruction.index]) continue;
    // All that are left do the same. Which lines they leave in the cache makes no difference to
    // code behind the loop: that begins in the line of the loop's end, or in one that is new.
    const auto left = static_cast<uint64_t>(extent - iteration - 1);
    count_steps(steps_ - steps_before, left);
    commands_ += left * (commands_ - commands_before);
    host_.repeat(work_before, left);
    return;
  }
}

void HostDemandCounter::count_steps(uint64_t each, uint64_t times) {
  if (control_.max_steps != 0 && times > (control_.max_steps - steps_) / each) {
    throw LimitError(-1, "program '" + program_.name + "': needs at most " +
                             std::to_string(control_.max_steps) + " loop iterations, has more");
  }
  steps_ += times * each;
}

}  // namespace npu::sim
