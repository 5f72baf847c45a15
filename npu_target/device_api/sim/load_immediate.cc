#include "sim/load_immediate.h"

namespace npu::sim {

// GNU as: up to 32 bits with a sign LUI and ADDI; beyond, the upper bits so, SLLI and ADDI.
int load_immediate_instructions(uint64_t value) {
  const uint64_t low = (value & 0xFFF) - ((value & 0x800) << 1);
  const int added = low != 0 ? 1 : 0;
  const auto number = static_cast<int64_t>(value);
  if (number == static_cast<int32_t>(number)) {
    return (static_cast<uint32_t>(value - low) != 0 ? 1 : 0) + added;
  }
  const uint64_t high = value - low;
  const int64_t rest = static_cast<int64_t>(high) >> __builtin_ctzll(high);
  return load_immediate_instructions(static_cast<uint64_t>(rest)) + 1 + added;
}

}  // namespace npu::sim
