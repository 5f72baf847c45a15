// The host core of a device, for tests.
#pragma once

#include "sim/config_fields.h"
#include "sim/host_config.h"

namespace npu::sim::testing {

// All that a kind of device has to have.
inline ConfigPairs host_fields() {
  return {
      {"clock_khz", 500000},
      {"host_cycles_per_command", 1},
      {"host_cycles_per_instruction", 1},
      {"host_branch_miss_cycles", 3},
      {"host_registers", 26},
      {"host_icache_bytes", 16384},
      {"host_icache_line_bytes", 64},
      {"host_icache_ways", 4},
      {"host_icache_miss_cycles", 49},
      {"host_icache_l2_cycles", 14},
      {"host_queue_commands", 10},
  };
}

inline HostConfig host() { return HostConfig::from_pairs(host_fields()); }

}  // namespace npu::sim::testing
