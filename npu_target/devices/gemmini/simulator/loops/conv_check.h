// What the device can run as a LOOP_CONV_WS, and what it cannot.
#pragma once

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/fault.h"
#include "gemmini/simulator/loops/conv.h"

namespace npu::gemmini::loops {

// All throw SimError unsupported_command.

// Features the device lacks, and flags that exclude each other.
void check_conv_flags(const RunningCommand& running, const Config& config, const ConvLoop& loop);

// Bounds of 0, which wrap around in hardware and run 65536 times.
void check_conv_bounds(const RunningCommand& running, const ConvLoop& loop);

// After the derived parameters are known: paddings, and fields the loop packs into commands.
void check_conv_shape(const RunningCommand& running, const ConvLoop& loop);

}  // namespace npu::gemmini::loops
