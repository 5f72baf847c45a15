// A program without an operating system, from start.S to its end.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

// The linker script's.
extern char __data_start[], __data_end[], __data_source[], __bss_start[], __bss_end[];
extern char __tls_base[], __stack[], __stack_end[], __stack_watched[];
extern void (*const __init_array_start[])(void);
extern void (*const __init_array_end[])(void);

// What start.S fills the stack with.
extern const uint64_t core_unused;
const uint64_t core_unused = UINT64_C(0x5aa5f00dc0dea55a);

int main(void);
_Noreturn void core_begin(void);

// What is left free at the end of the stack: who writes there has used more, or will.
#define MARGIN_BYTES 512

static size_t stack_bytes(void) { return (size_t)(__stack - __stack_end); }

// By words, and not by memset, which a compiler may see in the loop: picolibc's takes 4
// instructions a byte, half of what ResNet-18 takes on the device for its arena of 1 MB.
__attribute__((optimize("no-tree-loop-distribute-patterns"))) static void clear(char* from,
                                                                                const char* end) {
  typedef uint64_t __attribute__((may_alias)) word;
  while (from < end && (uintptr_t)from % sizeof(word) != 0) *from++ = 0;
  for (; (size_t)(end - from) >= sizeof(word); from += sizeof(word)) *(word*)from = 0;
  while (from < end) *from++ = 0;
}

// Up to the lowest place that has ever been written to.
static size_t stack_used(void) {
  const uint64_t* word = (const uint64_t*)__stack_watched;
  while (word < (const uint64_t*)__stack && *word == core_unused) ++word;
  return (size_t)(__stack - (const char*)word);
}

void core_check(void) {
  const uint64_t* margin = (const uint64_t*)__stack_end;
  for (size_t i = 0; i < MARGIN_BYTES / sizeof *margin; ++i) {
    if (margin[i] == core_unused) continue;
    printf("the stack has overflowed: %zu bytes are used, and %d left free, of %zu (STACK_BYTES)\n",
           stack_used(), MARGIN_BYTES, stack_bytes());
    exit(1);
  }
}

void core_begin(void) {
  memcpy(__data_start, __data_source, (size_t)(__data_end - __data_start));
  clear(__bss_start, __bss_end);
  __asm__ volatile("mv tp, %0" ::"r"(__tls_base));  // where the C library has errno
#if defined(__riscv_flen)
  // mstatus.FS: floats, whose instructions trap otherwise; as if nothing had been computed yet.
  __asm__ volatile("csrs mstatus, %0\n\tfscsr zero" ::"r"(UINT64_C(1) << 13));
#endif
  for (size_t i = 0; i < (size_t)(__init_array_end - __init_array_start); ++i) {
    __init_array_start[i]();
  }
  const int code = main();
  core_check();
  printf("%zu of %zu bytes of stack used\n", stack_used(), stack_bytes());
  exit(code);
}

static const char* cause_text(uint64_t cause) {
  static const char* const texts[] = {
      [0] = "no place for instructions",
      [1] = "no memory to fetch from",
      [CORE_ILLEGAL] = "illegal instruction",
      [3] = "breakpoint",
      [4] = "misaligned load",
      [5] = "no memory to load from",
      [6] = "misaligned store",
      [7] = "no memory to store to",
  };
  return cause < sizeof texts / sizeof *texts ? texts[cause] : "trap";
}

void core_report(uint64_t cause, uintptr_t pc, uint64_t value, const uint64_t* registers) {
  printf("%s: cause %" PRIu64 " at pc 0x%" PRIxPTR ", value 0x%" PRIx64 ", sp 0x%" PRIx64 "\n",
         cause_text(cause), cause, pc, value, registers[2]);
  if (cause == CORE_ILLEGAL) {
    uint32_t instruction;
    memcpy(&instruction, (const void*)pc, sizeof instruction);
    printf("0x%08" PRIx32 ": %s\n", instruction, core_illegal(instruction));
  }
  core_check();
  exit(1);
}

__attribute__((weak)) uintptr_t core_trapped(uint64_t cause, uintptr_t pc, uint64_t value,
                                             const uint64_t* registers) {
  core_report(cause, pc, value, registers);
}
