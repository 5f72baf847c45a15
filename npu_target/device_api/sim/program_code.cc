#include "sim/program_code.h"

#include <algorithm>
#include <utility>

#include "sim/host_code.h"

namespace npu::sim {
namespace {

uint32_t saturated(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
}

class Layout {
 public:
  Layout(const Program& program, std::vector<uint64_t> address_words, ProgramCode& code)
      : program_(program), address_words_(std::move(address_words)), code_(code) {}

  void lay_out() {
    append_all(program_.body);
    append(Instruction::Kind::kEnd, 0);
    for (size_t loop = 0; loop < code_.loops.size(); ++loop) {
      code_.loops[loop].first_step = static_cast<uint32_t>(code_.steps.size());
      code_.steps.insert(code_.steps.end(), steps_[loop].begin(), steps_[loop].end());
      code_.loops[loop].step_end = static_cast<uint32_t>(code_.steps.size());
    }
  }

 private:
  uint32_t position() const { return static_cast<uint32_t>(code_.instructions.size()); }

  Instruction& append(Instruction::Kind kind, size_t index) {
    Instruction& instruction = code_.instructions.emplace_back();
    instruction.kind = kind;
    instruction.index = static_cast<uint32_t>(index);
    return instruction;
  }

  void append_all(const std::vector<Node>& body) {
    for (const Node& node : body) {
      switch (node.kind) {
        case Node::Kind::kLoop:
          append_loop(node);
          break;
        case Node::Kind::kCommand:
          append_command(node);
          break;
      }
    }
  }

  void append_loop(const Node& node) {
    const size_t loop = code_.loops.size();
    const uint32_t start = position();
    code_.loops.push_back({node.slot, node.extent, 0, 0});
    steps_.emplace_back();
    append(Instruction::Kind::kLoop, loop);
    enclosing_.push_back(loop);
    append_all(node.body);
    enclosing_.pop_back();
    append(Instruction::Kind::kIterate, loop).target = start + 1;
    code_.instructions[start].target = position();
  }

  void append_command(const Node& node) {
    Instruction& command = append(Instruction::Kind::kCommand, code_.values.size());
    command.funct = node.funct;
    command.first_general = static_cast<uint32_t>(code_.general.size());
    append_operand(node.rs1, false);
    append_operand(node.rs2, true);
    command.general_end = static_cast<uint32_t>(code_.general.size());
  }

  void append_operand(const Operand& operand, bool is_rs2) {
    const uint32_t value = static_cast<uint32_t>(code_.values.size());
    uint64_t word = operand.base;
    if (operand.address >= 0) word += address_words_[static_cast<size_t>(operand.address)];
    code_.values.push_back(word);
    for (const Operand::Step& step : operand.steps) {
      for (const size_t loop : enclosing_) {
        if (code_.loops[loop].slot == step.slot) steps_[loop].push_back({value, step.increment});
      }
    }
    for (const Operand::General& term : operand.general) {
      code_.general.push_back({is_rs2, term.coefficient, term.expr});
    }
  }

  const Program& program_;
  const std::vector<uint64_t> address_words_;
  ProgramCode& code_;
  std::vector<size_t> enclosing_;              // loops around what is laid out
  std::vector<std::vector<ValueStep>> steps_;  // by loop
};

}  // namespace

ProgramCode::ProgramCode(const Program& program, const std::vector<uint64_t>& addresses) {
  Layout(program, program.address_words(addresses), *this).lay_out();
  add_host_code(program);
}

void ProgramCode::add_host_code(const Program& program) {
  const HostCode& host = program.host_code();
  const HostConfig& config = program.host;
  const auto line_bytes = static_cast<uint64_t>(config.host_icache_line_bytes);
  const auto line_of = [&](uint64_t byte) { return static_cast<uint32_t>(byte / line_bytes); };
  uint64_t run_instructions = 0;  // since the last one that was no command
  uint64_t run_once_cycles = 0;
  for (size_t i = 0; i < instructions.size(); ++i) {
    Instruction& instruction = instructions[i];
    HostStep step = host.steps[i];
    if (i == 0) step.first_byte = 0;
    step.instructions += (i == 0 ? host.call : 0) + (i + 1 == instructions.size() ? host.back : 0);
    const bool is_command = instruction.kind == Instruction::Kind::kCommand;
    const uint64_t issues = is_command && step.instructions != 0 ? 1 : 0;
    const uint64_t cycles =
        static_cast<uint64_t>(config.host_cycles_per_instruction) * (step.instructions - issues) +
        static_cast<uint64_t>(config.host_cycles_per_command) * issues;
    instruction.host_cycles = saturated(cycles);
    instruction.first_line = line_of(step.first_byte);
    instruction.line_end = step.instructions == 0 ? instruction.first_line
                                                  : line_of(step.first_byte + step.bytes() - 1) + 1;
    instruction.is_in_loop = step.is_in_loop;
    lines = std::max(lines, instruction.line_end);
    run_instructions += step.instructions;
    run_once_cycles += step.is_in_loop ? 0 : cycles;
    if (is_command) continue;
    instruction.host_instructions = saturated(std::exchange(run_instructions, 0));
    instruction.once_cycles = saturated(std::exchange(run_once_cycles, 0));
  }
  loop_bytes = host.loop_bytes;
  once_bytes = host.once_bytes;
}

}  // namespace npu::sim
