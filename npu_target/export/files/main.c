// Runs the network on golden/input.bin, compares what it says with golden/output.bin, and prints
// what each layer takes.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net.h"
#include "platform.h"

// The same functions of another C library round a little differently.
#ifndef NET_TOLERANCE
#define NET_TOLERANCE 1e-5
#endif

extern const net_input golden_input;
extern const net_output golden_output;

static net_output output;

static double element(const net_tensor* tensor, const net_output* of, size_t index) {
  const char* data = (const char*)of + tensor->offset;
  return tensor->type == NET_FLOAT32 ? ((const float*)data)[index] : ((const double*)data)[index];
}

// Whether an output is right. Floats may differ by a small part of the largest one.
static int check(const net_tensor* tensor) {
  const char* found = (const char*)&output + tensor->offset;
  const char* wanted = (const char*)&golden_output + tensor->offset;
  size_t equal = 0;
  for (size_t i = 0; i < tensor->elements; ++i) {
    equal += memcmp(found + i * tensor->element_bytes, wanted + i * tensor->element_bytes,
                    tensor->element_bytes) == 0;
  }
  printf("%s: %zu of %zu values equal", tensor->name, equal, tensor->elements);
  int is_right = equal == tensor->elements;
  if (!is_right && tensor->type != NET_INTEGER) {
    double difference = 0, largest = 0;
    for (size_t i = 0; i < tensor->elements; ++i) {
      const double value = element(tensor, &golden_output, i);
      const double off = fabs(element(tensor, &output, i) - value);
      if (!(off <= difference)) difference = off;  // a NaN stays
      if (fabs(value) > largest) largest = fabs(value);
    }
    printf(", the others differ by up to %g of %g", difference, largest);
    is_right = difference <= NET_TOLERANCE * largest;
  }
  printf("%s\n", is_right ? "" : ": WRONG");
  return is_right;
}

int main(void) {
  platform_start(&golden_input, &output);
  net_run(&golden_input, &output);
  uint64_t on_host = 0, on_device = 0;
  for (unsigned i = 0; i < NET_LAYERS; ++i) {
    const uint64_t count = platform_count(i);
    *(net_layers[i].on_device ? &on_device : &on_host) += count;
    printf("%3u %-6s %-48s %12llu\n", i, net_layers[i].on_device ? "device" : "host",
           net_layers[i].name, (unsigned long long)count);
  }
  printf("%s on %s: %llu %s on the device", NET_MODEL, NET_DEVICE, (unsigned long long)on_device,
         platform_unit());
  if (on_host) printf(", %llu on the host", (unsigned long long)on_host);
  printf("\n");
  int is_right = 1;
  for (unsigned i = 0; i < NET_OUTPUTS; ++i) is_right &= check(&net_output_tensors[i]);
  const char* complaint = platform_complaint();
  if (complaint) printf("WRONG: %s\n", complaint);
  return is_right && !complaint ? 0 : 1;
}
