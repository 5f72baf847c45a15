// What a kernel has issued is compared with what its program does, and run on the simulated device.
#ifndef ISSUED_H
#define ISSUED_H

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/device_kind.h"
#include "sim/host_core.h"
#include "sim/program_run.h"

namespace npu::platform {

inline std::string text(const sim::Command& command) {
  char words[64];
  std::snprintf(words, sizeof words, "%u 0x%" PRIx64 " 0x%" PRIx64, command.funct, command.rs1,
                command.rs2);
  return words;
}

// Throws std::runtime_error unless these are the program's commands for tensors at `addresses`.
inline void compare(const sim::Program& program, const std::vector<uint64_t>& addresses,
                    const std::vector<sim::Command>& issued) {
  size_t count = 0;
  sim::for_each_command(program, addresses, {}, [&](const sim::Command& wanted, uint32_t) {
    if (count == issued.size()) throw std::runtime_error("the kernel issues too few commands");
    const sim::Command& found = issued[count++];
    if (found.funct != wanted.funct || found.rs1 != wanted.rs1 || found.rs2 != wanted.rs2) {
      throw std::runtime_error("command " + std::to_string(count - 1) + " is " + text(found) +
                               ", the program has " + text(wanted));
    }
  });
  if (count != issued.size()) throw std::runtime_error("the kernel issues too many commands");
}

// Runs the program on tensors that lie at `data`, with races refused. Returns its cycles from a
// cold start. Throws sim::SimError, and std::runtime_error for a kind of device that is not there.
inline uint64_t simulate(const sim::Program& program, const std::vector<uint8_t*>& data) {
  const sim::DeviceKind* kind = sim::find_kind(program.kind);
  if (kind == nullptr) {
    throw std::runtime_error("no simulator of " + program.kind + " was built in");
  }
  const std::vector<uint64_t> addresses = kind->addresses(program);
  sim::MemoryMap dram;
  for (size_t i = 0; i < data.size(); ++i) {
    const sim::Argument& argument = program.arguments[i];
    dram.add({addresses[i], argument.bytes, data[i], argument.is_output, argument.name});
  }
  sim::RunOptions options;
  options.checks_races = true;
  const auto simulator = kind->simulator(program.numbers, dram, options);
  sim::HostCore host(program.host);
  simulator->run(program, addresses, host);
  return simulator->finish();
}

}  // namespace npu::platform

#endif
