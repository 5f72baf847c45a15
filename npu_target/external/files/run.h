// One run of one kernel, to be measured: what main.c, the core and the kernel have of each other.
#ifndef RUN_H
#define RUN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  size_t offset, bytes;  // in npu_memory
  int is_output;
} npu_argument;

extern const npu_argument npu_arguments[];
extern const unsigned npu_argument_count;

// What the kernel has of its own and the device reads.
extern const unsigned char* const npu_constants[];
extern const unsigned npu_constant_count;

// All arguments, at the distances from each other that they have in the simulator; what outputs
// hold before the run as well. The contents are the file of inputs.
extern unsigned char npu_memory[];
extern const size_t npu_memory_bytes;

// Whether outputs go to the console where no file is named for them.
extern const int npu_prints_outputs;

// Calls the kernel with its arguments.
void npu_call(void);

// The cycles of one call, from before its first instruction until the device is done.
uint64_t npu_measure(void);

#ifdef __cplusplus
}
#endif

#endif
