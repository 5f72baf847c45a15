#include "gemmini/simulator/mac.h"

#include <algorithm>
#include <cstring>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/scale.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace npu::gemmini {
namespace {

// B with rows 2k and 2k+1 interleaved: `pairs`[k][j][0..1] of shape [dim / 2][dim][2]. Two int16
// products then add up into one int32, which is what x86's pmaddwd does in one instruction.
void pack_portable(const int8_t* b, int16_t* pairs, int64_t dim) {
  for (int64_t k = 0; k < dim; k += 2) {
    const int8_t* even = b + k * dim;
    const int8_t* odd = even + dim;
    int16_t* to = pairs + k * dim;
    for (int64_t j = 0; j < dim; ++j) {
      to[2 * j] = even[j];
      to[2 * j + 1] = odd[j];
    }
  }
}

void mac_portable(const int8_t* a, int64_t a_stride, const int16_t* b_pairs, int32_t* c,
                  int64_t c_stride, int64_t rows, int64_t dim, bool accumulates) {
  for (int64_t i = 0; i < rows; ++i, a += a_stride, c += c_stride) {
    if (!accumulates) std::fill_n(c, dim, 0);
    for (int64_t k = 0; k < dim; k += 2) {
      const int32_t a0 = a[k];
      const int32_t a1 = a[k + 1];
      const int16_t* b = b_pairs + k * dim;
      for (int64_t j = 0; j < dim; ++j) {
        c[j] = add_wrapping(c[j], a0 * b[2 * j] + a1 * b[2 * j + 1]);
      }
    }
  }
}

#if defined(__x86_64__)
// Two neighbouring elements of a row of A as one int32, to be broadcast.
inline int32_t pair_at(const int16_t* a) {
  int32_t pair;
  std::memcpy(&pair, a, sizeof(pair));
  return pair;
}

#define NPU_AVX2 __attribute__((target("avx2")))
#define NPU_AVX2_INLINE NPU_AVX2 __attribute__((always_inline)) inline

// `kRows` rows of A, [kRows][dim], at a time, so that each load of B serves as many sums.
// `kColumns` (8 or 16) divides `dim`.
template <int kRows, int kColumns>
NPU_AVX2_INLINE void mac_rows(const int16_t* a, const int16_t* b_pairs, int32_t* c,
                              int64_t c_stride, int64_t dim, bool accumulates) {
  constexpr int kVectors = kColumns / 8;
  for (int64_t j = 0; j < dim; j += kColumns) {
    __m256i sums[kRows][kVectors];
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        const auto* from = reinterpret_cast<const __m256i*>(c + r * c_stride + j + 8 * v);
        sums[r][v] = accumulates ? _mm256_loadu_si256(from) : _mm256_setzero_si256();
      }
    }
    // Unrolled further, the compiler keeps sums in memory.
#pragma GCC unroll 2
    for (int64_t k = 0; k < dim; k += 2) {
      const auto* b = reinterpret_cast<const __m256i*>(b_pairs + k * dim + 2 * j);
      __m256i columns[kVectors];
      for (int v = 0; v < kVectors; ++v) columns[v] = _mm256_loadu_si256(b + v);
      for (int r = 0; r < kRows; ++r) {
        const __m256i pair = _mm256_set1_epi32(pair_at(a + r * dim + k));
        for (int v = 0; v < kVectors; ++v) {
          sums[r][v] = _mm256_add_epi32(sums[r][v], _mm256_madd_epi16(pair, columns[v]));
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        auto* to = reinterpret_cast<__m256i*>(c + r * c_stride + j + 8 * v);
        _mm256_storeu_si256(to, sums[r][v]);
      }
    }
  }
}

NPU_AVX2_INLINE void widen_row(const int8_t* from, int16_t* to, int64_t dim) {
  for (int64_t k = 0; k < dim; k += 8) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + k));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + k), _mm_cvtepi8_epi16(bytes));
  }
}

template <int kColumns>
NPU_AVX2_INLINE void mac_by(const int8_t* a, int64_t a_stride, const int16_t* b_pairs, int32_t* c,
                            int64_t c_stride, int64_t rows, int64_t dim, bool accumulates) {
  // Through memory, from where a pair of elements is broadcast as it is loaded.
  constexpr int64_t kBlockRows = 16;
  int16_t block[kBlockRows * Most::dim];
  while (rows > 0) {
    const int64_t block_rows = std::min(rows, kBlockRows);
    for (int64_t i = 0; i < block_rows; ++i, a += a_stride) widen_row(a, block + i * dim, dim);
    int64_t i = 0;
    for (; i + 4 <= block_rows; i += 4, c += 4 * c_stride) {
      mac_rows<4, kColumns>(block + i * dim, b_pairs, c, c_stride, dim, accumulates);
    }
    for (; i + 2 <= block_rows; i += 2, c += 2 * c_stride) {
      mac_rows<2, kColumns>(block + i * dim, b_pairs, c, c_stride, dim, accumulates);
    }
    for (; i < block_rows; ++i, c += c_stride) {
      mac_rows<1, kColumns>(block + i * dim, b_pairs, c, c_stride, dim, accumulates);
    }
    rows -= block_rows;
  }
}

// For a `dim` of at least 4.
void mac_sse2(const int8_t* a, int64_t a_stride, const int16_t* b_pairs, int32_t* c,
              int64_t c_stride, int64_t rows, int64_t dim, bool accumulates) {
  for (int64_t i = 0; i < rows; ++i, a += a_stride, c += c_stride) {
    for (int64_t j = 0; j < dim; j += 4) {
      auto* to = reinterpret_cast<__m128i*>(c + j);
      __m128i sum = accumulates ? _mm_loadu_si128(to) : _mm_setzero_si128();
      for (int64_t k = 0; k < dim; k += 2) {
        const int16_t both[] = {a[k], a[k + 1]};
        const __m128i pair = _mm_set1_epi32(pair_at(both));
        const auto* b = reinterpret_cast<const __m128i*>(b_pairs + k * dim + 2 * j);
        sum = _mm_add_epi32(sum, _mm_madd_epi16(pair, _mm_loadu_si128(b)));
      }
      _mm_storeu_si128(to, sum);
    }
  }
}

// For a `dim` of at least 8.
NPU_AVX2 void pack_avx2(const int8_t* b, int16_t* pairs, int64_t dim) {
  for (int64_t k = 0; k < dim; k += 2) {
    const int8_t* even = b + k * dim;
    const int8_t* odd = even + dim;
    int16_t* to = pairs + k * dim;
    for (int64_t j = 0; j < dim; j += 8) {
      const __m128i both =
          _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(even + j)),
                            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(odd + j)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 2 * j), _mm256_cvtepi8_epi16(both));
    }
  }
}

NPU_AVX2 void mac_avx2(const int8_t* a, int64_t a_stride, const int16_t* b_pairs, int32_t* c,
                       int64_t c_stride, int64_t rows, int64_t dim, bool accumulates) {
  if (dim == 8) {
    mac_by<8>(a, a_stride, b_pairs, c, c_stride, rows, dim, accumulates);
  } else {
    mac_by<16>(a, a_stride, b_pairs, c, c_stride, rows, dim, accumulates);
  }
}
#undef NPU_AVX2_INLINE
#undef NPU_AVX2
#endif

}  // namespace

std::vector<ArrayKernels> usable_kernels([[maybe_unused]] int64_t dim) {
  std::vector<ArrayKernels> kernels;
#if NPU_HAS_VNNI
  if (dim >= 16 && __builtin_cpu_supports("avx512vnni")) {
    kernels.push_back({pack_vnni, mac_avx512_vnni});
  }
  if (dim >= 16 && __builtin_cpu_supports("avxvnni")) kernels.push_back({pack_vnni, mac_avx_vnni});
#endif
#if defined(__x86_64__)
  if (dim >= 8 && __builtin_cpu_supports("avx2")) kernels.push_back({pack_avx2, mac_avx2});
  if (dim >= 4) kernels.push_back({pack_portable, mac_sse2});
#endif
  kernels.push_back({pack_portable, mac_portable});
  return kernels;
}

}  // namespace npu::gemmini
