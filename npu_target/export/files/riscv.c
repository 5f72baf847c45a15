// The network on a RISC-V core with the device: cycles are the core's own.
#include <stddef.h>

#include "core.h"
#include "platform.h"

static uint64_t begun, cycles[NET_LAYERS];

void net_layer_begin(unsigned layer) {
  (void)layer;
  begun = core_cycles();
}

void net_layer_end(unsigned layer) {
  cycles[layer] = core_cycles() - begun;
  core_check();
}

void platform_start(const net_input* input, net_output* output) {
  (void)input;
  (void)output;
  core_start();
}

uint64_t platform_count(unsigned layer) { return cycles[layer]; }

const char* platform_unit(void) { return "cycles"; }

const char* platform_complaint(void) { return NULL; }
