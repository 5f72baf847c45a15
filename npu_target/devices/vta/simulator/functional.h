// The device's values: what every command does to the buffers and to DRAM.
#pragma once

#include "sim/memory.h"
#include "vta/simulator/buffers.h"
#include "vta/simulator/command.h"
#include "vta/simulator/config.h"

namespace npu::vta {

// Where the lines of a LOAD or STORE lie in DRAM, in bytes.
struct DramLines {
  int64_t base;
  int64_t line_bytes;
  int64_t stride;
  int64_t lines;

  int64_t address(int64_t line) const { return base + line * stride; }
  int64_t end() const { return address(lines - 1) + line_bytes; }
};

// Of a transfer that moves rows. Throws SimError address_out_of_range beyond 32 bits of address.
DramLines dram_lines(const IssuedCommand& issued, const Config& config);

// Runs one command that `check` found right. Throws SimError naming it when it reaches beyond a
// buffer or DRAM, or reads what nothing has written; the buffers are then of no further use.
void run(const IssuedCommand& issued, const Config& config, const sim::MemoryMap& dram,
         Buffers& buffers);

}  // namespace npu::vta
