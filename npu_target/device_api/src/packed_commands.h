// Command streams as bytes: triples (funct, rs1, rs2) of little-endian uint64.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../sim/byte_reader.h"
#include "../sim/command.h"

namespace npu {

inline void append_command(std::string& to, const sim::Command& command) {
  for (const uint64_t word : {uint64_t{command.funct}, command.rs1, command.rs2}) {
    for (int shift = 0; shift < 64; shift += 8) to += static_cast<char>(word >> shift & 0xFF);
  }
}

// Throws SimError bad_program when the bytes are not whole triples or a funct is beyond 7 bits.
inline std::vector<sim::Command> unpack_commands(std::string_view bytes) {
  sim::ByteReader in(bytes, "command stream");
  std::vector<sim::Command> commands;
  while (in.remaining() != 0) {
    const uint64_t funct = in.u64();
    if (funct > 127) in.fail("needs a funct of 0 to 127, has " + std::to_string(funct));
    const uint64_t rs1 = in.u64();
    commands.push_back({static_cast<uint8_t>(funct), rs1, in.u64()});
  }
  return commands;
}

}  // namespace npu
