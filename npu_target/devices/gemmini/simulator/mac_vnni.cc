// Kernels by the instruction that adds four products of bytes to each int32 (VNNI's vpdpbusd), in
// its two encodings. It multiplies an unsigned byte by a signed one: A's elements are taken as 128
// more than they are, and 128 times the sum of B's column is taken off. Nothing saturates; sums
// wrap.
#include "gemmini/simulator/mac.h"

#if NPU_HAS_VNNI
#include <immintrin.h>

namespace npu::gemmini {
namespace {

// Of the tiles that a matrix is taken apart into: as many of B as stay in registers.
constexpr int64_t kTile = 16;

// c[rows][16] (+)= a[rows][16] * b[16][16]. B's four rows of quads begin `b_stride` bytes apart.
using TileKernel = void (*)(const int8_t* a, int64_t a_stride, const int8_t* b_quads,
                            int64_t b_stride, int32_t* c, int64_t c_stride, int64_t rows,
                            bool accumulates);

template <TileKernel kKernel>
void mac_by_tiles(const int8_t* a, int64_t a_stride, const int16_t* b_packed, int32_t* c,
                  int64_t c_stride, int64_t rows, int64_t dim, bool accumulates) {
  const auto* quads = reinterpret_cast<const int8_t*>(b_packed);
  for (int64_t j = 0; j < dim; j += kTile) {
    for (int64_t k = 0; k < dim; k += kTile) {
      kKernel(a + k, a_stride, quads + k * dim + 4 * j, 4 * dim, c + j, c_stride, rows,
              accumulates || k > 0);
    }
  }
}

__attribute__((target("avx512f,avx512vnni"))) void tile_avx512(const int8_t* a, int64_t a_stride,
                                                               const int8_t* b_quads,
                                                               int64_t b_stride, int32_t* c,
                                                               int64_t c_stride, int64_t rows,
                                                               bool accumulates) {
  // Of the forms without a mask GCC 12 says that they read what is not initialized.
  constexpr __mmask16 kAll = 0xFFFF;
  const __m512i zero = _mm512_setzero_si512();
  const __m512i offset = _mm512_set1_epi32(static_cast<int32_t>(0x80808080));
  __m512i b[4];
  __m512i excess = zero;
  for (int q = 0; q < 4; ++q) {
    b[q] = _mm512_loadu_si512(b_quads + q * b_stride);
    excess = _mm512_dpbusd_epi32(excess, offset, b[q]);
  }
  const __m512i start = _mm512_sub_epi32(zero, excess);
  for (int64_t i = 0; i < rows; ++i, a += a_stride, c += c_stride) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
    const __m512i row = _mm512_xor_si512(_mm512_maskz_broadcast_i32x4(kAll, bytes), offset);
    // Two sums, so that the second need not wait for the first.
    __m512i even = accumulates ? _mm512_add_epi32(start, _mm512_loadu_si512(c)) : start;
    __m512i odd = zero;
    even = _mm512_dpbusd_epi32(even, _mm512_maskz_shuffle_epi32(kAll, row, _MM_PERM_AAAA), b[0]);
    odd = _mm512_dpbusd_epi32(odd, _mm512_maskz_shuffle_epi32(kAll, row, _MM_PERM_BBBB), b[1]);
    even = _mm512_dpbusd_epi32(even, _mm512_maskz_shuffle_epi32(kAll, row, _MM_PERM_CCCC), b[2]);
    odd = _mm512_dpbusd_epi32(odd, _mm512_maskz_shuffle_epi32(kAll, row, _MM_PERM_DDDD), b[3]);
    _mm512_storeu_si512(c, _mm512_add_epi32(even, odd));
  }
}

__attribute__((target("avx2,avxvnni"))) void tile_avx(const int8_t* a, int64_t a_stride,
                                                      const int8_t* b_quads, int64_t b_stride,
                                                      int32_t* c, int64_t c_stride, int64_t rows,
                                                      bool accumulates) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i offset = _mm256_set1_epi32(static_cast<int32_t>(0x80808080));
  __m256i b[4][2];
  __m256i start[2] = {zero, zero};
  for (int half = 0; half < 2; ++half) {
    __m256i excess = zero;
    for (int q = 0; q < 4; ++q) {
      const int8_t* from = b_quads + q * b_stride + 32 * half;
      b[q][half] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      excess = _mm256_dpbusd_avx_epi32(excess, offset, b[q][half]);
    }
    start[half] = _mm256_sub_epi32(zero, excess);
  }
  for (int64_t i = 0; i < rows; ++i, a += a_stride, c += c_stride) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
    const __m256i row = _mm256_xor_si256(_mm256_broadcastsi128_si256(bytes), offset);
    const __m256i quads[4] = {_mm256_shuffle_epi32(row, 0x00), _mm256_shuffle_epi32(row, 0x55),
                              _mm256_shuffle_epi32(row, 0xAA), _mm256_shuffle_epi32(row, 0xFF)};
    for (int half = 0; half < 2; ++half) {
      auto* to = reinterpret_cast<__m256i*>(c + 8 * half);
      __m256i sum =
          accumulates ? _mm256_add_epi32(start[half], _mm256_loadu_si256(to)) : start[half];
      for (int q = 0; q < 4; ++q) sum = _mm256_dpbusd_avx_epi32(sum, quads[q], b[q][half]);
      _mm256_storeu_si256(to, sum);
    }
  }
}

}  // namespace

// Four rows of B interleaved: quads[k / 4][j][0..3].
void pack_vnni(const int8_t* b, int16_t* packed, int64_t dim) {
  for (int64_t k = 0; k < dim; k += 4) {
    for (int64_t j = 0; j < dim; j += 16) {
      __m128i rows[4];
      for (int r = 0; r < 4; ++r) {
        const int8_t* from = b + (k + r) * dim + j;
        rows[r] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      }
      const __m128i left[2] = {_mm_unpacklo_epi8(rows[0], rows[1]),
                               _mm_unpacklo_epi8(rows[2], rows[3])};
      const __m128i right[2] = {_mm_unpackhi_epi8(rows[0], rows[1]),
                                _mm_unpackhi_epi8(rows[2], rows[3])};
      auto* to = reinterpret_cast<__m128i*>(reinterpret_cast<int8_t*>(packed) + k * dim + 4 * j);
      _mm_storeu_si128(to, _mm_unpacklo_epi16(left[0], left[1]));
      _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(left[0], left[1]));
      _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(right[0], right[1]));
      _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(right[0], right[1]));
    }
  }
}

void mac_avx512_vnni(const int8_t* a, int64_t a_stride, const int16_t* b_packed, int32_t* c,
                     int64_t c_stride, int64_t rows, int64_t dim, bool accumulates) {
  mac_by_tiles<tile_avx512>(a, a_stride, b_packed, c, c_stride, rows, dim, accumulates);
}

void mac_avx_vnni(const int8_t* a, int64_t a_stride, const int16_t* b_packed, int32_t* c,
                  int64_t c_stride, int64_t rows, int64_t dim, bool accumulates) {
  mac_by_tiles<tile_avx>(a, a_stride, b_packed, c, c_stride, rows, dim, accumulates);
}

}  // namespace npu::gemmini
#endif
