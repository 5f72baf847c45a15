// An emulator of a core without the device, whose counter is of instructions: commands are
// instructions that do nothing, and what the device would have written is what it wrote when
// `native` ran. So each layer has its own instructions, and the host's their real inputs.
#include <stddef.h>
#include <string.h>

#include "platform.h"

// What one layer of the device wrote to one tensor: the bytes follow, then the next one.
struct result {
  uint64_t layer;  // NET_LAYERS at the end
  uint64_t is_output;
  uint64_t offset;
  uint64_t bytes;
};

extern const struct result net_results[];

static const struct result* next = net_results;
static net_output* output;
static uint64_t begun, instructions[NET_LAYERS], between;

static uint64_t now(void) {
  uint64_t count;
  __asm__ volatile("rdinstret %0" : "=r"(count)::"memory");
  return count;
}

__attribute__((noinline)) void net_layer_begin(unsigned layer) {
  (void)layer;
  begun = now();
}

__attribute__((noinline)) void net_layer_end(unsigned layer) {
  instructions[layer] = now() - begun - between;
  while (next->layer == layer) {
    uint8_t* to = next->is_output ? (uint8_t*)output : net_arena;
    const uint8_t* from = (const uint8_t*)(next + 1);
    memcpy(to + next->offset, from, next->bytes);
    next = (const struct result*)(from + (next->bytes + 7) / 8 * 8);
  }
}

void platform_start(const net_input* input, net_output* out) {
  (void)input;
  output = out;
  // What the two take themselves, before there are results.
  const struct result none = {NET_LAYERS, 0, 0, 0};
  next = &none;
  net_layer_begin(0);
  net_layer_end(0);
  between = instructions[0];
  next = net_results;
}

uint64_t platform_count(unsigned layer) { return instructions[layer]; }

const char* platform_unit(void) { return "instructions"; }

const char* platform_complaint(void) { return NULL; }
