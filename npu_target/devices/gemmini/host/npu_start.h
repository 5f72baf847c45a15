// What a Gemmini needs before its first command.
#ifndef NPU_START_H
#define NPU_START_H

#include "npu.h"

static inline void npu_start(void) {
#if defined(NPU_BARE_METAL)
  // Commands trap while mstatus.XS says that there is no extension; under an operating system this
  // is the kernel's.
  __asm__ volatile("csrs mstatus, %0" ::"r"(UINT64_C(3) << 15));
#endif
  npu(7, 0, 0);  // flush: the addresses that the device has translated before
  npu_fence();
}

#endif
