// The array's multiply-accumulate, the part of the simulator that has to be fast.
#pragma once

#include <cstdint>
#include <vector>

// GCC 11 and Clang 19 are the first that know how to ask for all of it.
#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 19 : __GNUC__ >= 11)
#define NPU_HAS_VNNI 1
#else
#define NPU_HAS_VNNI 0
#endif

namespace npu::gemmini {

// Lays B, which is [dim][dim], out as the multiply-accumulate that comes with it reads it. No
// kernel needs more than dim * dim of `packed`.
using PackKernel = void (*)(const int8_t* b, int16_t* packed, int64_t dim);

// c[rows][dim] = a[rows][dim] * b[dim][dim], int32 that wraps; with `accumulates` added to what is
// in `c`. The rows of `a` and `c` begin `a_stride` and `c_stride` elements apart. No row of `c`
// overlaps with another. `dim` is a power of two of at least 2.
using MacKernel = void (*)(const int8_t* a, int64_t a_stride, const int16_t* b_packed, int32_t* c,
                           int64_t c_stride, int64_t rows, int64_t dim, bool accumulates);

#if NPU_HAS_VNNI
// For a `dim` of at least 16.
void pack_vnni(const int8_t* b, int16_t* packed, int64_t dim);
void mac_avx512_vnni(const int8_t* a, int64_t a_stride, const int16_t* b_packed, int32_t* c,
                     int64_t c_stride, int64_t rows, int64_t dim, bool accumulates);
void mac_avx_vnni(const int8_t* a, int64_t a_stride, const int16_t* b_packed, int32_t* c,
                  int64_t c_stride, int64_t rows, int64_t dim, bool accumulates);
#endif

struct ArrayKernels {
  PackKernel pack;
  MacKernel mac;
};
// All that this processor can run with this `dim`, the fastest first and one of plain loops last.
std::vector<ArrayKernels> usable_kernels(int64_t dim);

}  // namespace npu::gemmini
