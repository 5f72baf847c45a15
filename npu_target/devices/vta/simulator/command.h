// One instruction of VTA: 128 bits in two words, told apart by its opcode.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/command.h"
#include "sim/error.h"
#include "vta/simulator/config.h"

namespace npu::vta {

enum Opcode : int64_t { kLoad = 0, kStore = 1, kGemm = 2, kFinish = 3, kAlu = 4 };

enum AluOp : int64_t { kMin = 0, kMax = 1, kAdd = 2, kShr = 3, kMul = 4 };

enum Engine { kLoadEngine, kComputeEngine, kStoreEngine, kEngines };

const char* engine_name(Engine engine);

// Fields that the opcode does not have are 0.
struct Command {
  int64_t opcode = kLoad;
  // Tokens taken from and given to the engines beside this one: load before compute before store.
  int64_t pop_prev = 0, pop_next = 0, push_prev = 0, push_next = 0;

  // LOAD and STORE: y_size lines of x_size rows, x_stride rows apart in DRAM, with lines and rows
  // of zeros around them in the buffer. No rows at all: the tokens alone.
  int64_t memory = 0;
  int64_t sram_base = 0;
  int64_t dram_base = 0;  // in rows
  int64_t y_size = 0, x_size = 0, x_stride = 0;
  int64_t y_pad_before = 0, y_pad_after = 0, x_pad_before = 0, x_pad_after = 0;

  // GEMM and ALU: the micro-ops from `begin` to before `end`, in two loops, whose counters times
  // these factors are added to a micro-op's rows.
  int64_t reset = 0;
  int64_t uop_begin = 0, uop_end = 0;
  int64_t iter_out = 0, iter_in = 0;
  int64_t dst_factor_out = 0, dst_factor_in = 0;
  int64_t src_factor_out = 0, src_factor_in = 0;
  int64_t wgt_factor_out = 0, wgt_factor_in = 0;
  int64_t alu_op = 0;
  int64_t use_immediate = 0;
  int64_t immediate = 0;  // signed

  bool is_transfer() const { return opcode == kLoad || opcode == kStore; }
  bool is_tokens_only() const { return is_transfer() && x_size == 0; }
  int64_t line_rows() const { return x_pad_before + x_size + x_pad_after; }
  int64_t sram_rows() const { return (y_pad_before + y_size + y_pad_after) * line_rows(); }
  int64_t steps() const { return iter_out * iter_in * (uop_end - uop_begin); }
};

// Which engine's queue an instruction goes to.
Engine engine_of(const Command& command);

// A command beside its place in the stream, for messages.
struct IssuedCommand {
  Command command;
  int64_t index;

  // Throws SimError naming the command. `needs` reads "needs ..., has ...".
  [[noreturn]] void fail(sim::ErrorKind kind, const std::string& needs) const;
};

// Throws SimError unsupported_command for an opcode that there is not, and for reserved bits that
// are set.
Command decode(const sim::Command& words, int64_t index);

// Of what a command must be whatever came before it. Throws SimError: unsupported_command for what
// the hardware does not have, or does otherwise than VTA's own simulator; address_out_of_range for
// rows that the buffer does not have.
void check(const IssuedCommand& issued, const Config& config);

// "gemm(pop_prev=1, uop_end=4, ...)": the fields that are not 0.
std::string describe(const Command& command);

// Where a field lies. Fields are the same on all devices, however many rows these have.
struct Field {
  const char* name;
  int64_t Command::* member;
  int word;
  int low;  // its lowest bit
  int bits;

  uint64_t mask() const { return ((uint64_t{1} << bits) - 1) << low; }
};

// The fields of an opcode. None of them is the opcode itself, in the lowest 3 bits of word 0.
std::vector<Field> fields_of(int64_t opcode);

}  // namespace npu::vta
