#include "vta/simulator/races.h"

#include <algorithm>

namespace npu::vta {
namespace {

// The cycles in which a result is under way, from where its step asked for the first operand: a
// step that asks for the row in one of them reads what was there before or, in the last, anything.
constexpr int64_t kImmediateHazardCycles = 2;
constexpr int64_t kRegisterHazardCycles = 3;

// Whether any line of one is also part of a line of the other.
bool overlap(const DramLines& a, const DramLines& b) {
  for (int64_t i = 0; i < (a.stride == 0 ? 1 : a.lines); ++i) {
    const int64_t begin = a.address(i);
    const int64_t end = begin + a.line_bytes;
    if (end <= b.base || begin >= b.end()) continue;
    if (b.stride == 0) return true;
    // The last line of b that begins before the end. One before that ends no later.
    const int64_t line = std::min((end - 1 - b.base) / b.stride, b.lines - 1);
    if (b.address(line) + b.line_bytes > begin) return true;
  }
  return false;
}

}  // namespace

RaceChecker::RaceChecker(const Config& config, Buffers& buffers)
    : config_(config),
      buffers_(buffers),
      inp_(kLoadEngine, kComputeEngine, buffers.inp.rows()),
      wgt_(kLoadEngine, kComputeEngine, buffers.wgt.rows()),
      out_(kComputeEngine, kStoreEngine, buffers.out.rows()) {}

void RaceChecker::run(const RunningCommand& running) {
  const Command& command = running.issued.command;
  if (command.opcode == kGemm || command.opcode == kAlu) compute(running);
  if (command.is_transfer() && !command.is_tokens_only()) transfer(running);
}

void RaceChecker::transfer(const RunningCommand& running) {
  const Command& command = running.issued.command;
  const DramLines lines = dram_lines(running.issued, config_);
  const Engine engine = engine_of(command);
  const auto touch = [&](std::deque<DramUse>& others, Engine other, std::deque<DramUse>& own) {
    while (!others.empty() && others.front().over <= running.before[other]) others.pop_front();
    for (const DramUse& use : others) {
      if (overlap(lines, use.lines)) running.need_over(other, use.over, "uses the same DRAM");
    }
    own.push_back({lines, running.number + 1});
  };
  if (engine == kStoreEngine) {
    for (const Engine reader : {kLoadEngine, kComputeEngine}) {
      touch(reads_[reader], reader, writes_[reader]);
    }
  } else {
    touch(writes_[engine], kStoreEngine, reads_[engine]);
  }
  if (command.memory == kUop) return;  // compute's own
  // A store reads what was computed into the accumulator: in hardware in a buffer beside it, in
  // VTA's own simulator there.
  SharedRows& rows = command.memory == kInp ? inp_ : command.memory == kWgt ? wgt_ : out_;
  for (int64_t i = 0; i < command.sram_rows(); ++i) rows.touch(running, command.sram_base + i);
}

void RaceChecker::compute(const RunningCommand& running) {
  const Command& command = running.issued.command;
  const bool reads_operands = command.opcode == kGemm && !command.reset;
  in_pipeline_.clear();
  for_each_step(running.issued, buffers_.uop, [&](const Step& step) {
    out_.touch(running, step.dst);
    if (command.opcode == kAlu) check_pipeline(running.issued, step);
    if (reads_operands) {
      inp_.touch(running, step.src);
      wgt_.touch(running, step.wgt);
    }
  });
}

void RaceChecker::check_pipeline(const IssuedCommand& issued, const Step& step) {
  const bool is_immediate = issued.command.use_immediate != 0;
  const int64_t steps = is_immediate
                            ? kImmediateHazardCycles / config_.alu_immediate_interval_cycles
                            : kRegisterHazardCycles / config_.alu_register_interval_cycles;
  for (const int64_t row : in_pipeline_) {
    if (row == step.dst || (!is_immediate && row == step.src)) {
      issued.fail(sim::ErrorKind::kRace, "needs " + std::to_string(steps) +
                                             " other steps between two of row " +
                                             std::to_string(row) + ", has fewer");
    }
  }
  in_pipeline_.push_back(step.dst);
  if (static_cast<int64_t>(in_pipeline_.size()) > steps) in_pipeline_.pop_front();
}

}  // namespace npu::vta
