// What a core without the device and a process that plays the device tell each other, in the core's
// memory: commands, and what they are for.
#ifndef MAILBOX_H
#define MAILBOX_H

#include <stdint.h>

typedef struct mailbox_command {
  uint64_t funct, rs1, rs2;
} mailbox_command;

enum { MAILBOX_IDLE, MAILBOX_MORE, MAILBOX_LAYER };  // what the device is to do
enum { MAILBOX_COMMANDS = 1024, MAILBOX_BLOCKS = 4 };

typedef struct mailbox {
  uint64_t request;  // MAILBOX_MORE: take the commands; MAILBOX_LAYER: and run all; then it is idle
  uint64_t layer;
  uint64_t blocks[MAILBOX_BLOCKS];  // addresses of input, output, weights, arena
  uint64_t count;
  mailbox_command commands[MAILBOX_COMMANDS];
} mailbox;

#endif
