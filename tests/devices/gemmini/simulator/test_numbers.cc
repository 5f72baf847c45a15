// Rounding, and the kernels of the array.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "device_api/cpp/check.h"
#include "gemmini/simulator/mac.h"
#include "gemmini/simulator/scale.h"

namespace npu::gemmini::testing {
namespace {

using sim::testing::Test;

const Test scaling("scale rounds half to even and saturates", [] {
  CHECK_EQUAL(scale_to_int8(1, 0.5f), 0);
  CHECK_EQUAL(scale_to_int8(3, 0.5f), 2);
  CHECK_EQUAL(scale_to_int8(-1, 0.5f), 0);
  CHECK_EQUAL(scale_to_int8(-3, 0.5f), -2);
  CHECK_EQUAL(scale_to_int8(1000, 1.0f), 127);
  CHECK_EQUAL(scale_to_int8(-1000, 1.0f), -128);
  CHECK_EQUAL(scale_to_int8(std::numeric_limits<int32_t>::min(), 1e30f), -128);
  CHECK_EQUAL(scale_to_int8(0, std::numeric_limits<float>::infinity()), 127);
  // 2^24 + 1 becomes 2^24 as a float before it is scaled.
  CHECK_EQUAL(scale_to_int8((1 << 24) + 1, std::ldexp(1.0f, -20)), 16);
});

const Test against_nearbyint("scale equals nearbyint everywhere it is tried", [] {
  std::mt19937 random(1);
  std::uniform_int_distribution<int32_t> value(-100000, 100000);
  std::uniform_real_distribution<float> scale(-0.01f, 0.01f);
  for (int i = 0; i < 20000; ++i) {
    const int32_t x = value(random);
    const float s = i % 4 == 0 ? 0.5f : scale(random);
    const float wanted = std::nearbyint(static_cast<float>(x) * s);
    CHECK_EQUAL(scale_to_int8(x, s), static_cast<int>(std::fmin(std::fmax(wanted, -128), 127)));
  }
});

const Test shifting("a right shift rounds half to even", [] {
  for (int shift = 0; shift < 32; ++shift) {
    for (const int32_t value : {0, 1, -1, 2, 3, -3, 5, 6, -6, 1 << 30, 0x7FFFFFFF}) {
      const double wanted = std::nearbyint(std::ldexp(static_cast<double>(value), -shift));
      CHECK_EQUAL(rounding_shift_right(value, shift), static_cast<int32_t>(wanted));
    }
  }
});

// Products of -128 are the largest there are, and each of -128 or 127 with the other the least.
int8_t drawn(std::mt19937& random, int8_t extreme) {
  return random() % 3 ? extreme : static_cast<int8_t>(random());
}

void check_kernels(std::mt19937& random, int64_t dim, int64_t rows, bool accumulates, int8_t most_a,
                   int8_t most_b) {
  const int64_t a_stride = dim + static_cast<int64_t>(random() % 20);
  const int64_t c_stride = dim + static_cast<int64_t>(random() % 20);
  std::vector<int8_t> a(static_cast<size_t>(rows * a_stride + dim));
  std::vector<int8_t> b(static_cast<size_t>(dim * dim));
  // Sums from anywhere in int32, so that they wrap. What is between rows has to stay.
  std::vector<int32_t> start(static_cast<size_t>(rows * c_stride + dim));
  for (int8_t& x : a) x = drawn(random, most_a);
  for (int8_t& x : b) x = drawn(random, most_b);
  for (int32_t& x : start) x = static_cast<int32_t>(random());
  std::vector<int32_t> wanted = start;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < dim; ++j) {
      int32_t& sum = wanted[static_cast<size_t>(i * c_stride + j)];
      if (!accumulates) sum = 0;
      for (int64_t k = 0; k < dim; ++k) {
        sum = add_wrapping(
            sum, a[static_cast<size_t>(i * a_stride + k)] * b[static_cast<size_t>(k * dim + j)]);
      }
    }
  }
  for (const ArrayKernels& kernels : usable_kernels(dim)) {
    std::vector<int16_t> packed(b.size());
    kernels.pack(b.data(), packed.data(), dim);
    std::vector<int32_t> got = start;
    kernels.mac(a.data(), a_stride, packed.data(), got.data(), c_stride, rows, dim, accumulates);
    CHECK(got == wanted);
  }
}

const Test kernels("every kernel multiplies as a plain loop does", [] {
  std::mt19937 random(2);
  for (const int64_t dim : {2, 4, 8, 16, 32, 64, 128, 256}) {
    const int64_t some_rows = static_cast<int64_t>(random() % static_cast<uint64_t>(dim));
    for (const int64_t rows : {int64_t{0}, int64_t{1}, some_rows, dim - 1, dim}) {
      for (const bool accumulates : {false, true}) {
        for (const int8_t most_a : {-128, 127}) {
          for (const int8_t most_b : {-128, 127}) {
            check_kernels(random, dim, rows, accumulates, most_a, most_b);
          }
        }
      }
    }
  }
});

const Test alone("every kernel multiplies matrices of one value", [] {
  constexpr int64_t kDim = 64;
  const std::vector<int32_t> start(kDim * kDim, std::numeric_limits<int32_t>::max() - 5);
  for (const ArrayKernels& kernels : usable_kernels(kDim)) {
    for (const int a_value : {-128, -1, 0, 127}) {
      for (const int b_value : {-128, -1, 0, 127}) {
        const std::vector<int8_t> a(kDim * kDim, static_cast<int8_t>(a_value));
        const std::vector<int8_t> b(kDim * kDim, static_cast<int8_t>(b_value));
        std::vector<int16_t> packed(kDim * kDim);
        kernels.pack(b.data(), packed.data(), kDim);
        std::vector<int32_t> got = start;
        kernels.mac(a.data(), kDim, packed.data(), got.data(), kDim, kDim, kDim, true);
        const int32_t wanted = add_wrapping(start[0], kDim * a_value * b_value);
        CHECK(got == std::vector<int32_t>(kDim * kDim, wanted));
      }
    }
  }
});

}  // namespace
}  // namespace npu::gemmini::testing
