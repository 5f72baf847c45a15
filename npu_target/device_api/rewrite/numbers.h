// Integers as the host core has them, and counts that do not overflow.
#pragma once

#include <cstdint>
#include <limits>

namespace npu::rewrite {

constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();

// Of sums and products of int64: nothing that is made of a few of them overflows.
using Wide = __int128;

inline int64_t wrapped(Wide value) { return static_cast<int64_t>(static_cast<uint64_t>(value)); }

// The least and the greatest value, or what is nearest to them.
inline int64_t saturated_product(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? kInt64Max : kInt64Min;
}

inline int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? kInt64Min : kInt64Max;
}

inline Wide floor_div(Wide a, Wide b) {
  const Wide quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

inline Wide floor_mod(Wide a, Wide b) { return a - floor_div(a, b) * b; }

}  // namespace npu::rewrite
