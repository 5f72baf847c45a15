#include "mac.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace npu::sim {

void mac_portable(const int16_t* a, const int16_t* b_pairs, int32_t* c, int64_t rows, int64_t dim) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < dim; k += 2) {
      const int32_t a0 = a[i * dim + k];
      const int32_t a1 = a[i * dim + k + 1];
      const int16_t* b = b_pairs + k * dim;
      for (int64_t j = 0; j < dim; ++j) {
        const int32_t sum = a0 * b[2 * j] + a1 * b[2 * j + 1];
        c[i * dim + j] = static_cast<int32_t>(static_cast<uint32_t>(c[i * dim + j]) +
                                              static_cast<uint32_t>(sum));
      }
    }
  }
}

#if defined(__x86_64__)
namespace {

// Two neighbouring elements of a row of A as one int32, to be broadcast.
inline int32_t pair_at(const int16_t* a) {
  int32_t pair;
  std::memcpy(&pair, a, sizeof(pair));
  return pair;
}

}  // namespace

void mac_sse2(const int16_t* a, const int16_t* b_pairs, int32_t* c, int64_t rows, int64_t dim) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < dim; j += 4) {
      auto* to = reinterpret_cast<__m128i*>(c + i * dim + j);
      __m128i sum = _mm_loadu_si128(to);
      for (int64_t k = 0; k < dim; k += 2) {
        const __m128i pair = _mm_set1_epi32(pair_at(a + i * dim + k));
        const auto* b = reinterpret_cast<const __m128i*>(b_pairs + k * dim + 2 * j);
        sum = _mm_add_epi32(sum, _mm_madd_epi16(pair, _mm_loadu_si128(b)));
      }
      _mm_storeu_si128(to, sum);
    }
  }
}

__attribute__((target("avx2"))) void mac_avx2(const int16_t* a, const int16_t* b_pairs, int32_t* c,
                                              int64_t rows, int64_t dim) {
  for (int64_t j = 0; j < dim; j += 8) {
    int64_t i = 0;
    // Four rows at a time, so that each load of B serves four sums.
    for (; i + 4 <= rows; i += 4) {
      __m256i sum[4];
      for (int r = 0; r < 4; ++r) {
        sum[r] = _mm256_loadu_si256(reinterpret_cast<__m256i*>(c + (i + r) * dim + j));
      }
      for (int64_t k = 0; k < dim; k += 2) {
        const __m256i b =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b_pairs + k * dim + 2 * j));
        for (int r = 0; r < 4; ++r) {
          const __m256i pair = _mm256_set1_epi32(pair_at(a + (i + r) * dim + k));
          sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(pair, b));
        }
      }
      for (int r = 0; r < 4; ++r) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + (i + r) * dim + j), sum[r]);
      }
    }
    for (; i < rows; ++i) {
      auto* to = reinterpret_cast<__m256i*>(c + i * dim + j);
      __m256i sum = _mm256_loadu_si256(to);
      for (int64_t k = 0; k < dim; k += 2) {
        const __m256i pair = _mm256_set1_epi32(pair_at(a + i * dim + k));
        const __m256i b =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b_pairs + k * dim + 2 * j));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pair, b));
      }
      _mm256_storeu_si256(to, sum);
    }
  }
}
#endif

MacKernel choose_mac(int64_t dim) {
#if defined(__x86_64__)
  if (dim >= 8 && __builtin_cpu_supports("avx2")) return mac_avx2;
  if (dim >= 4) return mac_sse2;
#endif
  (void)dim;
  return mac_portable;
}

}  // namespace npu::sim
