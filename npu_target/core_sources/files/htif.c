// What a program without an operating system prints, and how it ends: the host-target interface of
// Spike and of simulations of Rocket. For another console, another file in its place.
#include <stdint.h>
#include <stdio.h>

__attribute__((section(".tohost"), aligned(64))) volatile uint64_t tohost, fromhost;

__attribute__((constructor)) static void begin(void) {
  tohost = 0;
  fromhost = 0;
}

static int put(char c, FILE* file) {
  (void)file;
  while (tohost != 0) fromhost = 0;
  tohost = UINT64_C(1) << 56 | UINT64_C(1) << 48 | (uint8_t)c;  // to the console: a character
  return (uint8_t)c;
}

static FILE console = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);
FILE *const stdin = &console, *const stdout = &console, *const stderr = &console;

void _exit(int code) {
  while (tohost != 0) fromhost = 0;
  for (;;) tohost = (uint64_t)(unsigned)code << 1 | 1;
}
