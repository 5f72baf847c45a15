// What kernels printed by `npu-target program c` are made of: the command instruction,
// and words that the compiler leaves where they are.
//
// NPU_ISSUE   the name of a function void(uint64_t funct, uint64_t rs1, uint64_t rs2) that takes
//             the commands instead, so that a kernel runs on any machine
// NPU_WAIT    with it, the name of a function void(void) that is called for a fence
// NPU_OPCODE  which of the four custom opcodes the device listens to, CUSTOM_3 if not defined
#ifndef NPU_H
#define NPU_H

#include <stdint.h>

#ifndef NPU_OPCODE
#define NPU_OPCODE CUSTOM_3
#endif

#define NPU_TEXT_(text) #text
#define NPU_TEXT(text) NPU_TEXT_(text)

#if defined(NPU_ISSUE)

void NPU_ISSUE(uint64_t funct, uint64_t rs1, uint64_t rs2);
#define npu(funct, rs1, rs2) NPU_ISSUE(funct, rs1, rs2)
#if defined(NPU_WAIT)
void NPU_WAIT(void);
#define npu_fence() NPU_WAIT()
#else
#define npu_fence() ((void)0)
#endif

#elif defined(__riscv) && __riscv_xlen == 64

// One command. Nothing comes back; both words go along.
#define npu(funct, rs1, rs2)                                                             \
  __asm__ volatile(".insn r " NPU_TEXT(NPU_OPCODE) ", 3, %0, x0, %z1, %z2" ::"i"(funct), \
                   "rJ"((uint64_t)(rs1)), "rJ"((uint64_t)(rs2)))
// Waits until the device is done, and orders what host and device read and write.
#define npu_fence() __asm__ volatile("fence" ::: "memory")

#else
#error \
    "no command instruction on this machine; define NPU_ISSUE as the function that takes commands"
#endif

#if defined(__riscv)

// A constant, made here and kept: a compiler that sees it makes it anew at every use.
#define NPU_WORD(value)                                             \
  __extension__({                                                   \
    uint64_t npu_word_;                                             \
    __asm__("li %0, %1" : "=r"(npu_word_) : "i"((int64_t)(value))); \
    npu_word_;                                                      \
  })

// The same each time that control comes by: not before the loop around it.
#define NPU_WORD_HERE(value)                                                 \
  __extension__({                                                            \
    uint64_t npu_word_;                                                      \
    __asm__ volatile("li %0, %1" : "=r"(npu_word_) : "i"((int64_t)(value))); \
    npu_word_;                                                               \
  })

// A sum that is one addition.
static inline uint64_t npu_sum(uint64_t a, uint64_t b) {
  uint64_t sum;
  __asm__("add %0, %1, %2" : "=r"(sum) : "r"(a), "rI"(b));
  return sum;
}

static inline uint64_t npu_sum_here(uint64_t a, uint64_t b) {
  uint64_t sum;
  __asm__ volatile("add %0, %1, %2" : "=r"(sum) : "r"(a), "rI"(b));
  return sum;
}

// A sum with a constant that nothing else uses: a compiler that sees the constant by itself takes
// it from where the same one was made before.
#define NPU_SUM_WORD(a, value)                            \
  __extension__({                                         \
    uint64_t npu_sum_;                                    \
    __asm__("li %0, %2\n\tadd %0, %0, %1"                 \
            : "=&r"(npu_sum_)                             \
            : "r"((uint64_t)(a)), "i"((int64_t)(value))); \
    npu_sum_;                                             \
  })

#define NPU_SUM_WORD_HERE(a, value)                                \
  __extension__({                                                  \
    uint64_t npu_sum_;                                             \
    __asm__ volatile("li %0, %2\n\tadd %0, %0, %1"                 \
                     : "=&r"(npu_sum_)                             \
                     : "r"((uint64_t)(a)), "i"((int64_t)(value))); \
    npu_sum_;                                                      \
  })

// The same where the word is and when it is said, not among the commands before, where the old
// value would have to be kept.
static inline uint64_t npu_advance(uint64_t word, uint64_t by) {
  __asm__ volatile("add %0, %0, %1" : "+r"(word) : "rI"(by));
  return word;
}

// A branch and a move, as is charged: a compiler takes up to four instructions with a number.
static inline uint64_t npu_min(uint64_t a, uint64_t b) {
  __asm__("ble %0, %z1, 1f\n\tmv %0, %z1\n1:" : "+r"(a) : "rJ"(b));
  return a;
}
static inline uint64_t npu_max(uint64_t a, uint64_t b) {
  __asm__("bge %0, %z1, 1f\n\tmv %0, %z1\n1:" : "+r"(a) : "rJ"(b));
  return a;
}

#else

static inline uint64_t npu_min(uint64_t a, uint64_t b) { return (int64_t)a < (int64_t)b ? a : b; }
static inline uint64_t npu_max(uint64_t a, uint64_t b) { return (int64_t)a > (int64_t)b ? a : b; }
#define NPU_WORD(value) ((uint64_t)(value))
#define NPU_WORD_HERE(value) ((uint64_t)(value))
#define NPU_SUM_WORD(a, value) ((uint64_t)(a) + (uint64_t)(value))
#define NPU_SUM_WORD_HERE(a, value) ((uint64_t)(a) + (uint64_t)(value))
static inline uint64_t npu_sum(uint64_t a, uint64_t b) { return a + b; }
static inline uint64_t npu_sum_here(uint64_t a, uint64_t b) { return a + b; }
static inline uint64_t npu_advance(uint64_t word, uint64_t by) { return word + by; }

#endif

static inline uint64_t npu_lt(uint64_t a, uint64_t b) { return (int64_t)a < (int64_t)b; }
static inline uint64_t npu_le(uint64_t a, uint64_t b) { return (int64_t)a <= (int64_t)b; }

// Toward minus infinity. What no iteration uses may be computed: so no division traps.
static inline uint64_t npu_floor_div(uint64_t a, uint64_t b) {
  const int64_t n = (int64_t)a, d = (int64_t)b;
  if (d == 0 || d == -1) return 0 - (a & b);
  return (uint64_t)(n / d - (n % d != 0 && (n % d < 0) != (d < 0)));
}
static inline uint64_t npu_floor_mod(uint64_t a, uint64_t b) { return a - b * npu_floor_div(a, b); }

#endif
