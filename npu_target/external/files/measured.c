// A RISC-V core with the device: cycles are the core's own.
#include "run.h"

#include "npu_start.h"

#if defined(__linux__)
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#endif

// What is read of other memory before the run, so that caches hold none of the arguments, as the
// simulator's do. Without an operating system they lie where the loader has put them.
#ifndef NPU_EVICT_BYTES
#if defined(__linux__)
#define NPU_EVICT_BYTES (4 << 20)
#else
#define NPU_EVICT_BYTES 0
#endif
#endif

static uint64_t now(void) {
  uint64_t count;
  __asm__ volatile("rdcycle %0" : "=r"(count)::"memory");
  return count;
}

static void evict(void) {
#if NPU_EVICT_BYTES > 0
  static volatile unsigned char other[NPU_EVICT_BYTES];
  for (size_t i = 0; i < NPU_EVICT_BYTES; i += 64) other[i] = 1;
#endif
}

uint64_t npu_measure(void) {
#if defined(__linux__)
  // The device translates addresses; a page that is not there would have to be brought first.
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    perror("mlockall: memory cannot be kept in place (see ulimit -l)");
    exit(1);
  }
#endif
  npu_start();
  evict();
  npu_fence();
  const uint64_t begin = now();
  npu_call();
  npu_fence();
  return now() - begin;
}
