// Runs a kernel once and says what came of it, in lines that begin with "npu":
//
//   npu cycles 12345
//   npu output 64 00ff...   64 bytes of the outputs, which follow each other, from this one on
//
// Under an operating system the inputs are read from the file named first, and the outputs go to the
// one named second, if there is one, instead of the console.
#include <stdio.h>
#include <stdlib.h>

#include "run.h"

enum { ROW_BYTES = 64 };

static void print_outputs(void) {
  size_t position = 0;
  for (unsigned i = 0; i < npu_argument_count; ++i) {
    const npu_argument* argument = &npu_arguments[i];
    if (!argument->is_output) continue;
    const unsigned char* bytes = npu_memory + argument->offset;
    for (size_t begin = 0; begin < argument->bytes; begin += ROW_BYTES) {
      printf("npu output %lu ", (unsigned long)position);
      for (size_t at = begin; at < begin + ROW_BYTES && at < argument->bytes; ++at) {
        printf("%02x", bytes[at]);
        ++position;
      }
      printf("\n");
    }
  }
}

#ifndef NPU_BARE_METAL

static FILE* opened(const char* path, const char* mode) {
  FILE* file = fopen(path, mode);
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  return file;
}

static void read_inputs(const char* path) {
  FILE* file = opened(path, "rb");
  const size_t count = fread(npu_memory, 1, npu_memory_bytes, file);
  if (count != npu_memory_bytes || fgetc(file) != EOF) {
    fprintf(stderr, "%s: needs %zu bytes, has %s\n", path, npu_memory_bytes,
            count < npu_memory_bytes ? "fewer" : "more");
    exit(1);
  }
  fclose(file);
}

static void write_outputs(const char* path) {
  FILE* file = opened(path, "wb");
  for (unsigned i = 0; i < npu_argument_count; ++i) {
    const npu_argument* argument = &npu_arguments[i];
    if (argument->is_output) fwrite(npu_memory + argument->offset, 1, argument->bytes, file);
  }
  if (ferror(file) | fclose(file)) {
    perror(path);
    exit(1);
  }
}

#endif

int main(int argc, char** argv) {
#ifndef NPU_BARE_METAL
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: %s INPUTS [OUTPUTS]\n", argv[0]);
    return 2;
  }
  read_inputs(argv[1]);
#else
  (void)argc;
  (void)argv;
#endif
  printf("npu cycles %llu\n", (unsigned long long)npu_measure());
#ifndef NPU_BARE_METAL
  if (argc > 2) {
    write_outputs(argv[2]);
    return 0;
  }
#endif
  if (npu_prints_outputs) print_outputs();
  return 0;
}
