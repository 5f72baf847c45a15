// What the tests of VTA's simulator need: a device, commands, DRAM.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device_api/cpp/check.h"
#include "sim/memory.h"
#include "vta/simulator/simulator.h"

namespace npu::vta::testing {

using sim::ErrorKind;
using sim::testing::Test;

inline Config::Pairs device_fields() {
  return {{"log_batch", 0},
          {"log_block_in", 4},
          {"log_block_out", 4},
          {"log_uop_buffer_bytes", 15},
          {"log_inp_buffer_bytes", 15},
          {"log_wgt_buffer_bytes", 18},
          {"log_acc_buffer_bytes", 17},
          {"has_alu_multiply", 0},
          {"has_acc_int8_load", 0},
          {"command_queue_entries", 512},
          {"token_limit", 255},
          {"alu_immediate_interval_cycles", 1},
          {"alu_register_interval_cycles", 2},
          {"log_bus_bytes", 3},
          {"log_burst_beats", 8},
          {"bus_reads_in_flight", 16},
          {"clock_khz", 100'000},
          {"memory_latency_cycles", 30},
          {"memory_bytes_per_kilocycle", 16'000},
          {"host_cycles_per_command", 1},
          {"host_cycles_per_instruction", 1},
          {"host_branch_miss_cycles", 3},
          {"host_registers", 26},
          {"host_icache_bytes", 16384},
          {"host_icache_line_bytes", 64},
          {"host_icache_ways", 4},
          {"host_icache_miss_cycles", 49},
          {"host_icache_l2_cycles", 14},
          {"host_queue_commands", 10},
          {"host_launch_cycles", 0}};
}

inline Config device_with(const Config::Pairs& changes) {
  Config::Pairs fields = device_fields();
  for (const auto& [name, value] : changes) {
    for (auto& field : fields) {
      if (field.first == name) field.second = value;
    }
  }
  return Config::from_pairs(fields);
}

// Two batches, other blocks, few rows.
inline Config small_device() {
  return device_with({{"log_batch", 1},
                      {"log_block_in", 2},
                      {"log_block_out", 1},
                      {"log_uop_buffer_bytes", 7},
                      {"log_inp_buffer_bytes", 8},
                      {"log_wgt_buffer_bytes", 7},
                      {"log_acc_buffer_bytes", 8}});
}

constexpr uint64_t kDram = 0x10000;

// The inverse of `decode`, for values that fit their fields.
inline sim::Command encode(const Command& command) {
  uint64_t words[] = {static_cast<uint64_t>(command.opcode), 0};
  for (const Field& field : fields_of(command.opcode)) {
    const auto value = static_cast<uint64_t>(command.*field.member);
    words[field.word] |= value << field.low & field.mask();
  }
  return {0, words[0], words[1]};
}

inline sim::RunOptions checking_races(uint64_t max_cycles = 0) {
  sim::RunOptions options;
  options.max_cycles = max_cycles;
  options.checks_races = true;
  return options;
}

// 64 KiB of DRAM with a pattern in it, and a simulator over them.
struct Device {
  explicit Device(const Config& config = device_with({}))
      : config(config), bytes(1 << 16), simulator((add(), config), map, checking_races()) {}

  void add() {
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + i / 251);
    map.add({kDram, bytes.size(), bytes.data(), true, "memory"});
  }

  void run(const std::vector<Command>& commands) {
    for (const Command& command : commands) simulator.issue(encode(command), 0);
  }

  Config config;
  std::vector<uint8_t> bytes;
  sim::MemoryMap map;
  Simulator simulator;
};

// The tokens of a command: "<" pops from the engine before, ">" pushes to the one after.
inline Command tokens(Command command, const std::string& which) {
  command.pop_prev = which.find("pop<") != std::string::npos;
  command.pop_next = which.find("pop>") != std::string::npos;
  command.push_prev = which.find("push<") != std::string::npos;
  command.push_next = which.find("push>") != std::string::npos;
  return command;
}

// Rows of DRAM count from kDram.
inline Command transfer(Opcode opcode, Memory memory, int64_t sram, int64_t dram_row,
                        int64_t row_bytes, int64_t rows) {
  Command command;
  command.opcode = opcode;
  command.memory = memory;
  command.sram_base = sram;
  command.dram_base = static_cast<int64_t>(kDram) / row_bytes + dram_row;
  command.y_size = 1;
  command.x_size = rows;
  command.x_stride = rows;
  return command;
}

inline Command load_uops(int64_t sram, int64_t dram_row, int64_t rows) {
  return transfer(kLoad, kUop, sram, dram_row, 4, rows);
}

inline Command steps(Opcode opcode, int64_t begin, int64_t end, int64_t outer = 1,
                     int64_t inner = 1) {
  Command command;
  command.opcode = opcode;
  command.uop_begin = begin;
  command.uop_end = end;
  command.iter_out = outer;
  command.iter_in = inner;
  return command;
}

inline Command alu_immediate(AluOp op, int64_t immediate, int64_t begin, int64_t end) {
  Command command = steps(kAlu, begin, end);
  command.alu_op = op;
  command.use_immediate = 1;
  command.immediate = immediate;
  return command;
}

// Only passes tokens on, in an engine's queue.
inline Command only_tokens(Engine engine, const std::string& which) {
  Command command;
  command.opcode = engine == kStoreEngine ? kStore : kLoad;
  command.memory = engine == kStoreEngine ? kOut : engine == kLoadEngine ? kInp : kUop;
  return tokens(command, which);
}

inline Command finish(const std::string& which = "") {
  Command command;
  command.opcode = kFinish;
  return tokens(command, which);
}

}  // namespace npu::vta::testing
