#include "gemmini/simulator/timing/code_fetch.h"

#include <algorithm>

namespace npu::gemmini::timing {
namespace {

// Beyond all tensors.
constexpr uint64_t kCodeAddress = uint64_t{1} << 62;

}  // namespace

CodeFetch::CodeFetch(const Config& config)
    : line_bytes_(config.host_icache_line_bytes),
      request_bytes_(std::clamp(line_bytes_, config.bus_bytes, config.l2_line_bytes)) {
  L2 alone(config);
  memory_cycles_ = alone.read(kCodeAddress, request_bytes_, 0, 0);
  const Cycle later = 2 * memory_cycles_;
  l2_cycles_ = alone.read(kCodeAddress, request_bytes_, later, later) - later;
}

Cycle CodeFetch::delay(L2& l2, uint32_t line, bool is_new, Cycle at) const {
  const uint64_t address = kCodeAddress + line * static_cast<uint64_t>(line_bytes_);
  const Cycle alone = is_new ? memory_cycles_ : l2_cycles_;
  return std::max<Cycle>(0, l2.read_between(address, request_bytes_, at, alone) - at - alone);
}

}  // namespace npu::gemmini::timing
