#include "sim/load_immediate.h"

#include <algorithm>

namespace npu::sim {
namespace {

int64_t to_signed(uint64_t value) { return static_cast<int64_t>(value); }

// One LUI: 32 bits with a sign, the lower 12 of them zero.
bool fits_lui(uint64_t value) {
  return (value & 0xFFF) == 0 && to_signed(value) == static_cast<int32_t>(value);
}

// The shortest sequence that ends with ADDI, XORI or SLLI.
int shortest(uint64_t value) {
  if (fits_addition(value) || fits_lui(value)) return 1;
  int best = 9;
  const uint64_t low = (value & 0xFFF) - ((value & 0x800) << 1);
  if (low != 0) best = 1 + shortest(value - low);
  if (best > 2 && to_signed(low) < 0) best = std::min(best, 1 + shortest(value ^ low));
  if (best > 2 && (value & 1) == 0) {
    const int shift = __builtin_ctzll(value);
    uint64_t rest = static_cast<uint64_t>(to_signed(value) >> shift);
    // Twelve zeros are left where a LUI brings them along.
    if (shift > 12 && !fits_addition(rest) && fits_lui(rest << 12)) rest <<= 12;
    best = std::min(best, 1 + shortest(rest));
  }
  return best;
}

}  // namespace

int load_immediate_instructions(uint64_t value) {
  if (value == 0) return 0;
  int best = shortest(value);
  if (best > 2 && to_signed(value) > 0) {  // ends with SRLI, which brings zeros along
    const int zeros = __builtin_clzll(value);
    const uint64_t shifted = value << zeros;
    const uint64_t ones = (uint64_t{1} << zeros) - 1;
    best = std::min({best, 1 + shortest(shifted | ones), 1 + shortest(shifted)});
  }
  return best;
}

}  // namespace npu::sim
