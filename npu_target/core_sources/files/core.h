// A RISC-V core with the device, whatever runs on it: under Linux, or without an operating system
// (NPU_BARE_METAL), where start.S and bare_metal.c come before main.
#ifndef CORE_H
#define CORE_H

#include <stdint.h>

// Once, before the first command: the device is ready, and memory is where it stays.
void core_start(void);

// Ends the program with a message if something is known to have gone wrong: the stack overflowed.
void core_check(void);

static inline uint64_t core_cycles(void) {
  uint64_t count;
  __asm__ volatile("rdcycle %0" : "=r"(count)::"memory");
  return count;
}

// Whether an instruction is a command, of a device behind any of the custom opcodes.
int core_is_command(uint32_t instruction);

// Why an instruction may be illegal on this core.
const char* core_illegal(uint32_t instruction);

// Without an operating system: what a trap does. `cause` and `value` are those of mcause and mtval,
// `registers` are x0 to x31; the program goes on at the address that is returned. Unless another
// definition replaces it, a trap is reported.
uintptr_t core_trapped(uint64_t cause, uintptr_t pc, uint64_t value, const uint64_t* registers);
#define CORE_ILLEGAL 2  // the cause of an illegal instruction

// Prints what has trapped and ends the program.
_Noreturn void core_report(uint64_t cause, uintptr_t pc, uint64_t value, const uint64_t* registers);

#endif
