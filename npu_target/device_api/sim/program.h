// A compiled kernel: a loop nest around device commands whose operands are running values.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config_fields.h"
#include "sim/expression.h"
#include "sim/host_config.h"

namespace npu::sim {

// A tensor that the kernel is called with, or a constant of the program's own, `data`.
struct Argument {
  std::string name;
  bool is_output = false;
  std::string dtype;
  std::vector<uint64_t> shape;
  uint64_t bytes = 0;
  bool is_constant = false;
  std::vector<uint8_t> data;
};

// The address of an argument as a word holds it: in units of 2^unit bytes, of which it has to be a
// multiple, from bit `low_bit` on.
struct ArgumentAddress {
  uint32_t argument;
  uint8_t unit = 0;
  uint8_t low_bit = 0;

  bool operator==(const ArgumentAddress& other) const {
    return argument == other.argument && unit == other.unit && low_bit == other.low_bit;
  }
  // For the argument at this address.
  uint64_t word(uint64_t address) const { return address >> unit << low_bit; }
  static constexpr uint8_t kMaxUnit = 31;
};

// base + an argument's address + increments x loop variables + coefficients x expressions,
// modulo 2^64.
struct Operand {
  struct Step {
    uint32_t slot;  // the loop's variable
    uint64_t increment;
  };
  struct General {
    uint64_t coefficient;
    uint32_t expr;
  };
  uint64_t base = 0;
  int32_t address = -1;  // of Program::address, -1: none
  std::vector<Step> steps;
  std::vector<General> general;
};

struct Node {
  enum class Kind : uint8_t { kLoop = 1, kCommand = 2 };
  Kind kind = Kind::kCommand;
  // A loop: variable `slot` counts from 0 to extent - 1; an extent of 0 or less runs nothing.
  uint32_t slot = 0;
  uint32_t extent = 0;
  std::vector<Node> body;
  // A command.
  uint8_t funct = 0;
  Operand rs1;
  Operand rs2;
};

struct HostCode;
struct Program;

// The host's machine code of a program, which all launches have in common: made when the first of
// them asks for it, in any thread. Nothing that it follows from may change from then on, but of a
// copy, which has none yet.
class KeptHostCode {
 public:
  KeptHostCode() = default;
  KeptHostCode(const KeptHostCode& /*other*/) {}
  KeptHostCode& operator=(const KeptHostCode& /*other*/) {
    code_.reset();
    return *this;
  }

  const HostCode& of(const Program& program) const;

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const HostCode> code_;
};

struct Program {
  // Parses and validates a program file. Throws SimError bad_program for anything malformed:
  // a wrong magic, checksum, length, index, operation or dtype, a loop variable that is not in
  // scope, an extent of loops in loops beyond kMaxDepth, bytes left over; numbers that a device of
  // a kind that this library has cannot have.
  static Program parse(std::string_view bytes);

  // How many of the arguments a call hands over: all but the constants.
  size_t tensors() const;

  // Where the arguments lie when nobody says otherwise: the first at kFirstAddress, each next
  // one at the page-aligned end of the one before, or further on where operands need larger units.
  std::vector<uint64_t> default_addresses() const;

  // The addresses that operands have: at first those of the bytes of each argument, whole.
  ArgumentAddress address(int32_t index) const {
    const auto position = static_cast<size_t>(index);
    if (position < arguments.size()) return {static_cast<uint32_t>(index)};
    return shifted_addresses[position - arguments.size()];
  }

  const HostCode& host_code() const { return kept_host_code.of(*this); }

  // What each of them is for arguments at these addresses. Throws SimError bad_program for an
  // address that is no multiple of the unit, and unless there is one for each argument.
  std::vector<uint64_t> address_words(const std::vector<uint64_t>& addresses) const;

  std::string name;
  std::string kind;  // of device
  std::string config_name;
  ConfigPairs numbers;              // of the device, all of them
  HostConfig host;                  // those that every device has
  std::vector<Argument> arguments;  // the constants last
  std::vector<ArgumentAddress> shifted_addresses;
  ExprTable exprs;
  std::vector<Node> body;
  uint32_t slot_count = 0;         // loop variables
  std::vector<uint32_t> loop_ids;  // by slot, as the file has them
  KeptHostCode kept_host_code;

  static constexpr uint64_t kFirstAddress = 0x80010000;
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr int kMaxDepth = 64;
};

}  // namespace npu::sim
