// The array's multiply-accumulate, the part of the simulator that has to be fast.
#pragma once

#include <cstdint>

namespace npu::gemmini {

// B with rows 2k and 2k+1 interleaved: `pairs`[k][j][0..1] of shape [dim / 2][dim][2]. Two int16
// products then add up into one int32, which is what x86's pmaddwd does in one instruction.
// `b` is [dim][dim].
using PackKernel = void (*)(const int8_t* b, int16_t* pairs, int64_t dim);

// c[rows][dim] = a[rows][dim] * b[dim][dim], int32 that wraps; with `accumulates` added to what is
// in `c`. The rows of `a` and `c` begin `a_stride` and `c_stride` elements apart. No row of `c`
// overlaps with another. `dim` is a power of two of at least 2.
using MacKernel = void (*)(const int8_t* a, int64_t a_stride, const int16_t* b_pairs, int32_t* c,
                           int64_t c_stride, int64_t rows, int64_t dim, bool accumulates);

void pack_portable(const int8_t* b, int16_t* pairs, int64_t dim);
void mac_portable(const int8_t* a, int64_t a_stride, const int16_t* b_pairs, int32_t* c,
                  int64_t c_stride, int64_t rows, int64_t dim, bool accumulates);
#if defined(__x86_64__)
// For a `dim` of at least 4.
void mac_sse2(const int8_t* a, int64_t a_stride, const int16_t* b_pairs, int32_t* c,
              int64_t c_stride, int64_t rows, int64_t dim, bool accumulates);
// For a `dim` of at least 8.
void pack_avx2(const int8_t* b, int16_t* pairs, int64_t dim);
void mac_avx2(const int8_t* a, int64_t a_stride, const int16_t* b_pairs, int32_t* c,
              int64_t c_stride, int64_t rows, int64_t dim, bool accumulates);
#endif

struct ArrayKernels {
  PackKernel pack;
  MacKernel mac;
};
// The fastest of the kernels that this processor can run with this `dim`.
ArrayKernels choose_kernels(int64_t dim);

}  // namespace npu::gemmini
