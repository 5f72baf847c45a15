// A RISC-V core with the device: cycles are the core's own.
#include "core.h"
#include "npu.h"
#include "run.h"

// What is read of other memory before the run, so that caches hold none of the arguments, as the
// simulator's do. Without an operating system they lie where the loader has put them.
#ifndef NPU_EVICT_BYTES
#if defined(__linux__)
#define NPU_EVICT_BYTES (4 << 20)
#else
#define NPU_EVICT_BYTES 0
#endif
#endif

static void evict(void) {
#if NPU_EVICT_BYTES > 0
  static volatile unsigned char other[NPU_EVICT_BYTES];
  // A page is there when it was written; lines that are read then need not be written back by the
  // kernel's misses, which the simulator's empty cache has not.
  for (size_t i = 0; i < NPU_EVICT_BYTES; i += 4096) other[i] = 1;
  for (size_t i = 0; i < NPU_EVICT_BYTES; i += 64) (void)other[i];
#endif
}

uint64_t npu_measure(void) {
  core_start();
  evict();
  npu_fence();
  const uint64_t begin = core_cycles();
  npu_call();
  npu_fence();
  const uint64_t cycles = core_cycles() - begin;
  core_check();
  return cycles;
}
