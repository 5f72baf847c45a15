// Rounding, the kernels of the array, expressions, the checksum.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.h"
#include "crc32.h"
#include "expression.h"
#include "mac.h"
#include "scale.h"

namespace npu::sim::testing {
namespace {

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

int64_t evaluate(Op op, int64_t a, int64_t b) {
  ExprTable table;
  table.nodes.resize(3);
  table.nodes[0].op = Op::kConst;
  table.nodes[0].value = a;
  table.nodes[1].op = Op::kConst;
  table.nodes[1].value = b;
  table.nodes[2].op = op;
  table.nodes[2].inputs[1] = 1;
  table.prepare_root(2);
  std::vector<int64_t> scratch;
  return table.evaluate(2, {}, scratch);
}

const Test division("division rounds towards minus infinity", [] {
  const int64_t least = std::numeric_limits<int64_t>::min();
  CHECK_EQUAL(evaluate(Op::kFloorDiv, 7, 2), 3);
  CHECK_EQUAL(evaluate(Op::kFloorDiv, -7, 2), -4);
  CHECK_EQUAL(evaluate(Op::kFloorDiv, 7, -2), -4);
  CHECK_EQUAL(evaluate(Op::kFloorDiv, -8, 2), -4);
  CHECK_EQUAL(evaluate(Op::kFloorMod, -7, 2), 1);
  CHECK_EQUAL(evaluate(Op::kFloorMod, 7, -2), -1);
  CHECK_EQUAL(evaluate(Op::kFloorDiv, least, -1), least);
  CHECK_EQUAL(evaluate(Op::kFloorMod, least, -1), 0);
  CHECK_FAILS(kBadProgram, evaluate(Op::kFloorDiv, 1, 0));
  CHECK_FAILS(kBadProgram, evaluate(Op::kFloorMod, 1, 0));
});

const Test wrapping("arithmetic wraps", [] {
  const int64_t most = std::numeric_limits<int64_t>::max();
  CHECK_EQUAL(evaluate(Op::kAdd, most, 1), std::numeric_limits<int64_t>::min());
  CHECK_EQUAL(evaluate(Op::kMul, most, 2), -2);
});

const Test checksum("the checksum is zlib's", [] { CHECK_EQUAL(crc32("123456789"), 0xCBF43926u); });

}  // namespace
}  // namespace npu::sim::testing
