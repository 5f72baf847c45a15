// What a run cost, as the simulators of all kinds hand it out.
#pragma once

#include "gemmini/simulator/timing/timing.h"
#include "sim/simulator.h"

namespace npu::gemmini {

inline sim::Stats named_stats(const timing::Stats& stats) {
  sim::Stats named;
  named.cycles = stats.cycles;
  named.commands = stats.commands;
  named.macs = stats.macs;
  named.bytes_loaded = stats.bytes_loaded;
  named.bytes_stored = stats.bytes_stored;
  named.host_stall_cycles = stats.host_stall_cycles;
  named.own = {{"l2_hits", stats.l2_hits},
               {"l2_misses", stats.l2_misses},
               {"memory_bytes_read", stats.memory_bytes_read},
               {"memory_bytes_written", stats.memory_bytes_written},
               {"array_busy_cycles", stats.array_busy_cycles},
               {"bank_conflict_cycles", stats.bank_conflict_cycles}};
  return named;
}

}  // namespace npu::gemmini
