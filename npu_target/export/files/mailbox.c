// A core without the device, and no operating system either: a command is an illegal instruction,
// which goes into the mailbox; at the end of a layer the core waits for who runs them. Around the
// functions of riscv.c, to which it is linked by --wrap.
#include "mailbox.h"

#include <stddef.h>
#include <string.h>

#include "core.h"
#include "platform.h"

mailbox npu_mailbox;

static void hand_over(uint64_t request) {
  __asm__ volatile("fence" ::: "memory");
  *(volatile uint64_t*)&npu_mailbox.request = request;
  while (*(volatile uint64_t*)&npu_mailbox.request != MAILBOX_IDLE) continue;
  __asm__ volatile("fence" ::: "memory");
  npu_mailbox.count = 0;
}

uintptr_t core_trapped(uint64_t cause, uintptr_t pc, uint64_t value, const uint64_t* registers) {
  uint32_t instruction = 0;
  if (cause == CORE_ILLEGAL) memcpy(&instruction, (const void*)pc, sizeof instruction);
  if (!core_is_command(instruction)) core_report(cause, pc, value, registers);
  if (npu_mailbox.count == MAILBOX_COMMANDS) hand_over(MAILBOX_MORE);
  npu_mailbox.commands[npu_mailbox.count++] = (mailbox_command){
      instruction >> 25, registers[instruction >> 15 & 31], registers[instruction >> 20 & 31]};
  return pc + 4;
}

void __real_platform_start(const net_input* input, net_output* output);
void __real_net_layer_begin(unsigned layer);
void __real_net_layer_end(unsigned layer);
void __wrap_platform_start(const net_input* input, net_output* output);
void __wrap_net_layer_begin(unsigned layer);
void __wrap_net_layer_end(unsigned layer);

void __wrap_platform_start(const net_input* input, net_output* output) {
  const void* blocks[MAILBOX_BLOCKS] = {input, output, net_weights, net_arena};
  for (unsigned i = 0; i < MAILBOX_BLOCKS; ++i) npu_mailbox.blocks[i] = (uintptr_t)blocks[i];
  __real_platform_start(input, output);
}

void __wrap_net_layer_begin(unsigned layer) {
  npu_mailbox.layer = layer;
  npu_mailbox.count = 0;  // what the start issued
  __real_net_layer_begin(layer);
}

void __wrap_net_layer_end(unsigned layer) {
  hand_over(MAILBOX_LAYER);
  __real_net_layer_end(layer);
}
