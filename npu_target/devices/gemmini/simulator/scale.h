// Numbers as the device rounds them.
#pragma once

#include <cstdint>

namespace npu::gemmini {

// float(value) * scale, rounded half to even, saturated to int8. Each step is rounded to
// float32; no fused multiply-add. What is not a number becomes 127, as in the hardware.
inline int8_t scale_to_int8(int32_t value, float scale) {
  // Adding 1.5 * 2^23 leaves no fraction bits, so the addition itself rounds half to even.
  // Saturating first keeps the sum in the range where that holds, and changes no result.
  constexpr float kRounder = 12582912.0f;
  float scaled = static_cast<float>(value) * scale;
  scaled = scaled < 127.0f ? scaled : 127.0f;
  scaled = scaled > -128.0f ? scaled : -128.0f;
  return static_cast<int8_t>(static_cast<int32_t>((scaled + kRounder) - kRounder));
}

inline int8_t saturate_int8(int32_t value) {
  return static_cast<int8_t>(value < -128 ? -128 : value > 127 ? 127 : value);
}

// value / 2^shift, rounded half to even; shift 0 to 31.
inline int32_t rounding_shift_right(int32_t value, int shift) {
  if (shift == 0) return value;
  const uint32_t bits = static_cast<uint32_t>(value);
  const uint32_t half = (bits >> (shift - 1)) & 1;
  const uint32_t is_below_half_set = (bits & ((uint32_t{1} << (shift - 1)) - 1)) != 0;
  const uint32_t is_odd = (bits >> shift) & 1;
  return (value >> shift) + static_cast<int32_t>(half & (is_below_half_set | is_odd));
}

// int32 addition that wraps, as the device's accumulator does.
inline int32_t add_wrapping(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

}  // namespace npu::gemmini
