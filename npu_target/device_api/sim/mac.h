// The array's multiply-accumulate, the part of the simulator that has to be fast.
#pragma once

#include <cstdint>

namespace npu::sim {

// c[rows][dim] += a[rows][dim] * b[dim][dim], int32 that wraps.
//
// `b_pairs` holds B with rows 2k and 2k+1 interleaved: element [k][j][0..1] of shape
// [dim / 2][dim][2]. Two int16 products then add up into one int32, which is what x86's pmaddwd
// does in one instruction. `dim` is a power of two of at least 2.
using MacKernel = void (*)(const int16_t* a, const int16_t* b_pairs, int32_t* c, int64_t rows,
                           int64_t dim);

void mac_portable(const int16_t* a, const int16_t* b_pairs, int32_t* c, int64_t rows, int64_t dim);
#if defined(__x86_64__)
void mac_sse2(const int16_t* a, const int16_t* b_pairs, int32_t* c, int64_t rows, int64_t dim);
void mac_avx2(const int16_t* a, const int16_t* b_pairs, int32_t* c, int64_t rows, int64_t dim);
#endif

// The fastest of the kernels that this processor can run with this `dim`.
MacKernel choose_mac(int64_t dim);

}  // namespace npu::sim
