// The kinds of device that this library simulates, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config_fields.h"
#include "sim/memory.h"
#include "sim/program.h"
#include "sim/simulator.h"

namespace npu::sim {

class DeviceKind {
 public:
  virtual ~DeviceKind() = default;

  // As program files have it.
  virtual std::string name() const = 0;

  // Throws SimError bad_program for numbers that this kind of device cannot have.
  virtual void check(const ConfigPairs& numbers) const = 0;

  // A device of such numbers. `dram`, which has to outlive it, has the addresses that commands
  // name. Throws SimError.
  virtual std::unique_ptr<Simulator> simulator(const ConfigPairs& numbers, const MemoryMap& dram,
                                               RunOptions options) const = 0;

  // Where the arguments of a program lie in the memory that the device sees, one address each.
  virtual std::vector<uint64_t> addresses(const Program& program) const {
    return program.default_addresses();
  }
};

// Makes a kind known from the start on, where it is a constant beside the kind's definition.
struct KindRegistration {
  // `kind` has to live for ever.
  explicit KindRegistration(const DeviceKind& kind);
};

// Null for a kind that this library does not have.
const DeviceKind* find_kind(std::string_view name);

// "gemmini, ..."
std::string kind_names();

}  // namespace npu::sim
