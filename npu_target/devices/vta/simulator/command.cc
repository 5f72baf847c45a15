#include "vta/simulator/command.h"

#include "sim/memory.h"

namespace npu::vta {
namespace {

using sim::ErrorKind;

constexpr const char* kOpcodeNames[] = {"load", "store", "gemm", "finish", "alu"};

void need(const IssuedCommand& issued, bool holds, const std::string& what, int64_t has) {
  if (holds) return;
  issued.fail(ErrorKind::kUnsupportedCommand, "needs " + what + ", has " + std::to_string(has));
}

void need_rows(const IssuedCommand& issued, int64_t end, int64_t rows) {
  if (end <= rows) return;
  issued.fail(ErrorKind::kAddressOutOfRange,
              "needs " + std::to_string(end) + " rows of the buffer, has " + std::to_string(rows));
}

void check_transfer(const IssuedCommand& issued, const Config& config) {
  const Command& command = issued.command;
  if (command.opcode == kStore) {
    need(issued, command.memory == kOut, "the memory out (4)", command.memory);
  } else {
    need(issued, command.memory != kOut && command.memory <= kAccInt8, "a memory to load",
         command.memory);
    need(issued, command.memory != kAccInt8 || config.has_acc_int8_load,
         "has_acc_int8_load to load memory 5", 0);
  }
  if (command.x_size == 0) return;
  need(issued, command.y_size > 0, "a y_size of at least 1", command.y_size);
  const bool may_pad = command.opcode == kLoad && command.memory >= kInp;
  const int64_t padding = command.sram_rows() - command.y_size * command.x_size;
  need(issued, may_pad || padding == 0, "no rows of padding for this memory", padding);
  need_rows(issued, command.sram_base + command.sram_rows(), config.rows(command.memory));
}

void check_alu(const IssuedCommand& issued, const Config& config) {
  const Command& command = issued.command;
  const int64_t most_op = config.has_alu_multiply ? kMul : kShr;
  need(issued, command.alu_op <= most_op, "an alu_op of at most " + std::to_string(most_op),
       command.alu_op);
  // The hardware shifts to the left where the immediate is negative, even if it is not in use.
  need(issued, command.use_immediate || command.immediate == 0,
       "an immediate of 0 beside registers", command.immediate);
  const bool is_far = command.immediate < -31 || command.immediate > 31;
  need(issued, command.alu_op != kShr || !is_far, "a shift of -31 to 31", command.immediate);
}

}  // namespace

const char* engine_name(Engine engine) {
  constexpr const char* kNames[] = {"load", "compute", "store"};
  return kNames[engine];
}

Engine engine_of(const Command& command) {
  if (command.opcode == kStore) return kStoreEngine;
  const bool loads_operands = command.memory == kInp || command.memory == kWgt;
  return command.opcode == kLoad && loads_operands ? kLoadEngine : kComputeEngine;
}

void IssuedCommand::fail(sim::ErrorKind kind, const std::string& needs) const {
  throw sim::SimError(kind, index,
                      "command " + std::to_string(index) + " " + describe(command) + ": " + needs);
}

std::vector<Field> fields_of(int64_t opcode) {
  using C = Command;
  std::vector<Field> fields = {{"pop_prev", &C::pop_prev, 0, 3, 1},
                               {"pop_next", &C::pop_next, 0, 4, 1},
                               {"push_prev", &C::push_prev, 0, 5, 1},
                               {"push_next", &C::push_next, 0, 6, 1}};
  const auto add = [&](std::initializer_list<Field> more) { fields.insert(fields.end(), more); };
  if (opcode == kLoad || opcode == kStore) {
    add({{"memory", &C::memory, 0, 7, 3},
         {"sram_base", &C::sram_base, 0, 10, 16},
         {"dram_base", &C::dram_base, 0, 26, 32},
         {"y_size", &C::y_size, 1, 0, 16},
         {"x_size", &C::x_size, 1, 16, 16},
         {"x_stride", &C::x_stride, 1, 32, 16},
         {"y_pad_before", &C::y_pad_before, 1, 48, 4},
         {"y_pad_after", &C::y_pad_after, 1, 52, 4},
         {"x_pad_before", &C::x_pad_before, 1, 56, 4},
         {"x_pad_after", &C::x_pad_after, 1, 60, 4}});
  } else if (opcode != kFinish) {
    add({{"uop_begin", &C::uop_begin, 0, 8, 13},
         {"uop_end", &C::uop_end, 0, 21, 14},
         {"iter_out", &C::iter_out, 0, 35, 14},
         {"iter_in", &C::iter_in, 0, 49, 14},
         {"dst_factor_out", &C::dst_factor_out, 1, 0, 11},
         {"dst_factor_in", &C::dst_factor_in, 1, 11, 11},
         {"src_factor_out", &C::src_factor_out, 1, 22, 11},
         {"src_factor_in", &C::src_factor_in, 1, 33, 11}});
  }
  if (opcode == kGemm) {
    add({{"reset", &C::reset, 0, 7, 1},
         {"wgt_factor_out", &C::wgt_factor_out, 1, 44, 10},
         {"wgt_factor_in", &C::wgt_factor_in, 1, 54, 10}});
  } else if (opcode == kAlu) {
    add({{"op", &C::alu_op, 1, 44, 3},
         {"use_immediate", &C::use_immediate, 1, 47, 1},
         {"immediate", &C::immediate, 1, 48, 16}});
  }
  return fields;
}

Command decode(const sim::Command& issued, int64_t index) {
  const uint64_t words[] = {issued.rs1, issued.rs2};
  const auto fail = [&](const std::string& needs) {
    throw sim::SimError(ErrorKind::kUnsupportedCommand, index,
                        "command " + std::to_string(index) + " (" + sim::hex(words[0]) + ", " +
                            sim::hex(words[1]) + "): " + needs);
  };
  Command command;
  command.opcode = static_cast<int64_t>(words[0] & 7);
  if (issued.funct != 0 || command.opcode > kAlu) {
    fail("needs a funct of 0 and an opcode of 0 to 4, has " + std::to_string(issued.funct) +
         " and " + std::to_string(command.opcode));
  }
  uint64_t reserved[] = {words[0] & ~uint64_t{7}, words[1]};
  for (const Field& field : fields_of(command.opcode)) {
    command.*field.member = static_cast<int64_t>((words[field.word] & field.mask()) >> field.low);
    reserved[field.word] &= ~field.mask();
  }
  command.immediate = static_cast<int16_t>(command.immediate);
  if (reserved[0] != 0 || reserved[1] != 0) {
    fail("needs the reserved bits " + sim::hex(reserved[0]) + ", " + sim::hex(reserved[1]) +
         " to be 0");
  }
  return command;
}

void check(const IssuedCommand& issued, const Config& config) {
  const Command& command = issued.command;
  const Engine engine = engine_of(command);
  need(issued, engine != kLoadEngine || (!command.pop_prev && !command.push_prev),
       "no tokens of an engine before load", 1);
  need(issued, engine != kStoreEngine || (!command.pop_next && !command.push_next),
       "no tokens of an engine behind store", 1);
  if (command.is_transfer()) check_transfer(issued, config);
  if (command.opcode != kGemm && command.opcode != kAlu) return;
  need(issued, command.iter_out > 0, "an iter_out of at least 1", command.iter_out);
  need(issued, command.iter_in > 0, "an iter_in of at least 1", command.iter_in);
  need(issued, command.uop_end > command.uop_begin, "a uop_end beyond uop_begin", command.uop_end);
  need_rows(issued, command.uop_end, config.rows(kUop));
  if (command.opcode == kAlu) check_alu(issued, config);
}

std::string describe(const Command& command) {
  std::string texts;
  for (const Field& field : fields_of(command.opcode)) {
    const int64_t value = command.*field.member;
    if (value == 0) continue;
    texts += (texts.empty() ? "" : ", ") + std::string(field.name) + "=" + std::to_string(value);
  }
  return std::string(kOpcodeNames[command.opcode]) + "(" + texts + ")";
}

}  // namespace npu::vta
