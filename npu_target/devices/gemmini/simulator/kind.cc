// Makes the device known to the library.
#include <utility>

#include "gemmini/simulator/cycle_simulator.h"
#include "gemmini/simulator/simulator.h"
#include "sim/device_kind.h"

namespace npu::gemmini {
namespace {

class Gemmini final : public sim::DeviceKind {
 public:
  std::string name() const final { return "gemmini"; }

  void check(const sim::ConfigPairs& numbers) const final { Config::from_pairs(numbers); }

  std::unique_ptr<sim::Simulator> simulator(const sim::ConfigPairs& numbers,
                                            const sim::MemoryMap& dram,
                                            sim::RunOptions options) const final {
    const Config config = Config::from_pairs(numbers);
    if (!options.computes_values) {
      return std::make_unique<CycleSimulator>(config, std::move(options));
    }
    return std::make_unique<Simulator>(config, dram, std::move(options));
  }
};

const Gemmini kGemmini;
const sim::KindRegistration kRegistration(kGemmini);

}  // namespace
}  // namespace npu::gemmini
