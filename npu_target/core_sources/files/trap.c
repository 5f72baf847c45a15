// RISC-V Linux without the device, such as a user-mode emulator: a command is an illegal
// instruction, which is handed to the simulator that the program has inside.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "core.h"

void npu_issue(uint64_t funct, uint64_t rs1, uint64_t rs2);

static void trapped(int number, siginfo_t* info, void* context) {
  (void)info;
  unsigned long* registers = ((ucontext_t*)context)->uc_mcontext.__gregs;  // [0] is the pc
  uint32_t instruction;
  memcpy(&instruction, (const void*)registers[0], sizeof instruction);
  if (!core_is_command(instruction)) {
    fprintf(stderr, "instruction 0x%08x at 0x%lx is none of the device\n", instruction,
            registers[0]);
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  const unsigned rs1 = instruction >> 15 & 31, rs2 = instruction >> 20 & 31;
  npu_issue(instruction >> 25, rs1 ? registers[rs1] : 0, rs2 ? registers[rs2] : 0);
  registers[0] += 4;
}

__attribute__((constructor)) static void install(void) {
  struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
  if (sigaction(SIGILL, &action, NULL) != 0) {
    perror("sigaction");
    exit(1);
  }
}
