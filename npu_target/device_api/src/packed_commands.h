// Command streams as bytes: words of little-endian uint64.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sim/byte_reader.h"
#include "sim/command.h"

namespace npu {

// As many as some 2 GiB hold: beyond any kernel, and before the memory is gone.
constexpr int64_t kMostPackedCommands = int64_t{1} << 26;

// A command, and what the host spends before it.
struct Issue {
  uint32_t host_cycles;
  sim::Command command;
};

inline void append_words(std::string& to, std::initializer_list<uint64_t> words) {
  for (const uint64_t word : words) {
    for (int shift = 0; shift < 64; shift += 8) to += static_cast<char>(word >> shift & 0xFF);
  }
}

// Three words: funct, rs1, rs2.
inline void append_command(std::string& to, const sim::Command& command) {
  append_words(to, {command.funct, command.rs1, command.rs2});
}

// Four words: host cycles, funct, rs1, rs2.
inline void append_issue(std::string& to, const Issue& issue) {
  append_words(to, {issue.host_cycles, issue.command.funct, issue.command.rs1, issue.command.rs2});
}

inline sim::Command take_command(sim::ByteReader& in) {
  const uint64_t funct = in.u64();
  if (funct > 127) in.fail("needs a funct of 0 to 127, has " + std::to_string(funct));
  const uint64_t rs1 = in.u64();
  return {static_cast<uint8_t>(funct), rs1, in.u64()};
}

// Both throw SimError bad_program when the bytes are not whole commands or a funct is beyond 7
// bits.
inline std::vector<sim::Command> unpack_commands(std::string_view bytes) {
  sim::ByteReader in(bytes, "command stream");
  std::vector<sim::Command> commands;
  while (in.remaining() != 0) commands.push_back(take_command(in));
  return commands;
}

inline std::vector<Issue> unpack_issues(std::string_view bytes) {
  sim::ByteReader in(bytes, "command stream");
  std::vector<Issue> issues;
  while (in.remaining() != 0) {
    const auto host_cycles = static_cast<uint32_t>(std::min<uint64_t>(in.u64(), UINT32_MAX));
    issues.push_back({host_cycles, take_command(in)});
  }
  return issues;
}

}  // namespace npu
