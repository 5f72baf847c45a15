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

const Test kernels("every kernel multiplies as a plain loop does", [] {
  std::mt19937 random(2);
  for (const int64_t dim : {2, 4, 8, 16, 32, 64}) {
    std::vector<ArrayKernels> kernels = {{pack_portable, mac_portable}, choose_kernels(dim)};
#if defined(__x86_64__)
    if (dim >= 4) kernels.push_back({pack_portable, mac_sse2});
#endif
    const int64_t a_stride = 2 * dim;
    const int64_t c_stride = dim + 3;
    const size_t size = static_cast<size_t>(dim * dim);
    for (const int64_t rows : {int64_t{0}, int64_t{1}, dim - 1, dim}) {
      for (const bool accumulates : {false, true}) {
        // Products of -128 are the largest; sums from anywhere in int32 wrap.
        std::vector<int8_t> a(2 * size), b(size);
        std::vector<int32_t> start(size + 3 * static_cast<size_t>(dim));
        for (auto* tile : {&a, &b}) {
          for (int8_t& x : *tile) x = random() % 3 ? -128 : static_cast<int8_t>(random());
        }
        for (auto& x : start) x = static_cast<int32_t>(random());
        std::vector<int32_t> wanted = start;
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < dim; ++j) {
            int32_t& sum = wanted[i * c_stride + j];
            if (!accumulates) sum = 0;
            for (int64_t k = 0; k < dim; ++k) {
              sum = add_wrapping(sum, a[i * a_stride + k] * b[k * dim + j]);
            }
          }
        }
        for (const ArrayKernels& kernel : kernels) {
          std::vector<int16_t> pairs(size);
          kernel.pack(b.data(), pairs.data(), dim);
          std::vector<int32_t> got = start;
          kernel.mac(a.data(), a_stride, pairs.data(), got.data(), c_stride, rows, dim,
                     accumulates);
          CHECK(got == wanted);
        }
      }
    }
  }
});

}  // namespace
}  // namespace npu::gemmini::testing
