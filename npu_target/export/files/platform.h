// What a network runs on: one of platform/*.
#ifndef PLATFORM_H
#define PLATFORM_H

#include <stdint.h>

#include "net.h"

#ifdef __cplusplus
extern "C" {
#endif

// Before the first net_run, with what it will be called with.
void platform_start(const net_input* input, net_output* output);

// What a layer took the last time that it ran, in platform_unit(); 0 where that is not known.
uint64_t platform_count(unsigned layer);
const char* platform_unit(void);

// What this platform found wrong with what a layer did, NULL if nothing.
const char* platform_complaint(void);

#ifdef __cplusplus
}
#endif

#endif
