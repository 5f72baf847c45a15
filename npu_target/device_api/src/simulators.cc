#include "src/simulators.h"

#include <utility>

#include "sim/host_config.h"
#include "src/foreign_simulator.h"

namespace npu {

std::unique_ptr<sim::Simulator> make_simulator(const std::string& kind,
                                               const sim::ConfigPairs& numbers,
                                               const sim::MemoryMap& dram,
                                               sim::RunOptions options) {
  if (const sim::DeviceKind* own = sim::find_kind(kind)) {
    return own->simulator(numbers, dram, std::move(options));
  }
  const std::string name = "npu.simulator." + kind;
  const auto simulate = tvm::ffi::Function::GetGlobal(name);
  if (!simulate) {
    throw sim::SimError(sim::ErrorKind::kBadProgram, -1,
                        "device kind '" + kind + "': needs one of " + sim::kind_names() +
                            ", or a global function " + name + " that simulates it, has neither");
  }
  return std::make_unique<ForeignSimulator>(name, *simulate, numbers, dram, std::move(options));
}

void check_config(const std::string& kind, const sim::ConfigPairs& numbers) {
  if (const sim::DeviceKind* own = sim::find_kind(kind)) own->check(numbers);
  sim::HostConfig::from_pairs(numbers);
}

std::vector<uint64_t> addresses_of(const sim::Program& program) {
  const sim::DeviceKind* own = sim::find_kind(program.kind);
  return own == nullptr ? program.default_addresses() : own->addresses(program);
}

}  // namespace npu
