// Makes the device known to the library.
#include <utility>

#include "sim/device_kind.h"
#include "vta/simulator/simulator.h"

namespace npu::vta {
namespace {

class Vta final : public sim::DeviceKind {
 public:
  std::string name() const final { return "vta"; }

  void check(const sim::ConfigPairs& numbers) const final { Config::from_pairs(numbers); }

  std::unique_ptr<sim::Simulator> simulator(const sim::ConfigPairs& numbers,
                                            const sim::MemoryMap& dram,
                                            sim::RunOptions options) const final {
    return std::make_unique<Simulator>(Config::from_pairs(numbers), dram, std::move(options));
  }
};

const Vta kVta;
const sim::KindRegistration kRegistration(kVta);

}  // namespace
}  // namespace npu::vta
