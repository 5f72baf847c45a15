// A RISC-V core with the device: cycles are the core's own.
#include <stddef.h>

#include "npu_start.h"
#include "platform.h"

#if defined(__linux__)
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#endif

static uint64_t begun, cycles[NET_LAYERS];

static uint64_t now(void) {
  uint64_t count;
  __asm__ volatile("rdcycle %0" : "=r"(count)::"memory");
  return count;
}

void net_layer_begin(unsigned layer) {
  (void)layer;
  begun = now();
}

void net_layer_end(unsigned layer) { cycles[layer] = now() - begun; }

void platform_start(const net_input* input, net_output* output) {
  (void)input;
  (void)output;
#if defined(__linux__)
  // The device translates addresses; a page that is not there would have to be brought first.
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    perror("mlockall: the network's memory cannot be kept in place (see ulimit -l)");
    exit(1);
  }
#endif
  npu_start();
}

uint64_t platform_cycles(unsigned layer) { return cycles[layer]; }

const char* platform_complaint(void) { return NULL; }
