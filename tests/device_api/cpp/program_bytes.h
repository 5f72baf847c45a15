// Program files written by hand, for tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "host.h"
#include "sim/command.h"
#include "sim/crc32.h"

namespace npu::sim::testing {

class Bytes {
 public:
  Bytes& u8(uint8_t value) { return integer(value, 1); }
  Bytes& u16(uint16_t value) { return integer(value, 2); }
  Bytes& u32(uint32_t value) { return integer(value, 4); }
  Bytes& u64(uint64_t value) { return integer(value, 8); }
  Bytes& text(const std::string& value) {
    u32(static_cast<uint32_t>(value.size()));
    data += value;
    return *this;
  }

  // Where an operand has the address of an argument.
  Bytes& address(uint16_t argument, uint8_t unit = 0, uint8_t low_bit = 0) {
    return u16(argument).u8(unit).u8(low_bit);
  }
  Bytes& no_address() { return address(0xFFFF); }

  std::string data;

 private:
  Bytes& integer(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) data += static_cast<char>(value >> (8 * i) & 0xFF);
    return *this;
  }
};

// Puts magic, length and checksum before a payload.
inline std::string program_file(const std::string& payload) {
  Bytes file;
  file.data = std::string("NPUPROG\x03", 8);
  file.u32(static_cast<uint32_t>(payload.size())).u32(crc32(payload));
  return file.data + payload;
}

inline Bytes program_head(const ConfigPairs& fields = host_fields(),
                          const std::string& kind = "test") {
  Bytes bytes;
  bytes.text("kernel").text(kind).text("test-device").u32(static_cast<uint32_t>(fields.size()));
  for (const auto& [name, value] : fields) bytes.text(name).u64(static_cast<uint64_t>(value));
  return bytes;
}

inline Bytes& constant(Bytes& bytes, int64_t value) {
  return bytes.u8(0).u64(static_cast<uint64_t>(value));
}
inline Bytes& plain_operand(Bytes& bytes, uint64_t base) {
  return bytes.u64(base).no_address().u32(0).u32(0);
}
inline Bytes& plain_command(Bytes& bytes, const Command& command) {
  bytes.u8(2).u8(command.funct);
  plain_operand(bytes, command.rs1);
  return plain_operand(bytes, command.rs2);
}

constexpr uint64_t tile(uint64_t row, uint64_t rows, uint64_t cols) {
  return rows << 48 | cols << 32 | row;
}

// Two settings, then 3 tiles of 16 x 16 from argument "x" to argument "y", one loop iteration each,
// with the columns of the last one cut to 5 by a general expression.
inline std::string copy_program() {
  Bytes b = program_head();
  b.u32(2);
  b.text("x").u8(0).text("int8").u32(2).u64(48).u64(16);
  b.text("y").u8(1).text("int8").u32(2).u64(48).u64(16);
  b.u32(5);                // expressions
  constant(b, 3);          // 0: the extent
  b.u8(1).u32(7);          // 1: the variable of loop 7
  constant(b, 2);          // 2
  b.u8(11).u32(1).u32(2);  // 3: it is the last tile
  constant(b, 1);          // 4
  b.u32(3);                // body
  plain_command(b, {0, 0x3F80000000100101, 16});
  plain_command(b, {0, 2, 0x3F80000000000010});
  b.u8(1).u32(7).u32(0).u32(2);
  for (const bool is_load : {true, false}) {
    b.u8(2).u8(is_load ? 2 : 3);
    b.u64(0).address(is_load ? 0 : 1).u32(1).u32(7).u64(256).u32(0);
    b.u64(tile(0, 16, 16)).no_address().u32(1).u32(7).u64(16);
    b.u32(1).u64(static_cast<uint64_t>(-11) << 32).u32(3);
  }
  return program_file(b.data);
}

}  // namespace npu::sim::testing
