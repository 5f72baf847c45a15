// What a program needs of the core before it gives commands to the device.
#include "core.h"

#include "npu_start.h"

#define SYSTEM 0x73  // the opcode of reads of control registers

#if defined(__linux__)

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void illegal(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)context;
  uint32_t instruction;
  memcpy(&instruction, info->si_addr, sizeof instruction);
  char line[256];
  const int length = snprintf(line, sizeof line, "illegal instruction 0x%08x at %p: %s\n",
                              (unsigned)instruction, info->si_addr, core_illegal(instruction));
  if (write(STDERR_FILENO, line, (size_t)length) < 0) _exit(2);
  _exit(1);
}

void core_start(void) {
  const struct sigaction action = {.sa_sigaction = illegal, .sa_flags = SA_SIGINFO};
  if (sigaction(SIGILL, &action, NULL) != 0) {
    perror("sigaction");
    exit(1);
  }
  // The device translates addresses; a page that is not there would have to be brought first.
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    perror("mlockall: the program's memory cannot be kept in place (see ulimit -l)");
    exit(1);
  }
  npu_start();
}

void core_check(void) {}  // the system guards the stack

#else

void core_start(void) { npu_start(); }

#endif

int core_is_command(uint32_t instruction) {
  // custom-0 to custom-3 are 0x0b, 0x2b, 0x5b, 0x7b.
  return (instruction & 0x5f) == 0x0b || (instruction & 0x5f) == 0x5b;
}

const char* core_illegal(uint32_t instruction) {
  if (core_is_command(instruction)) {
    return "a command; no device takes it on this core (OPCODE says which opcode is meant)"
#if defined(__linux__)
           ", or the kernel does not let programs use it"
#endif
        ;
  }
  if ((instruction & 0x7f) == SYSTEM) {
#if defined(__linux__)
    return "the kernel does not let programs read the counter of cycles "
           "(sysctl kernel.perf_user_access=2)";
#else
    return "this core has no such control register, or no floats, which have some (ARCH)";
#endif
  }
  return "this core has no such instruction (ARCH says which there are)";
}
