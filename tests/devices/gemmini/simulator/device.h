// A small device and its commands, for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "device_api/cpp/check.h"
#include "gemmini/simulator/command.h"
#include "gemmini/simulator/config.h"
#include "sim/memory.h"

namespace npu::gemmini::testing {

using sim::testing::Test;

// Every number of the default device, but `dim` columns and small memories.
inline Config::Pairs device_fields(int64_t dim = 16) {
  return {
      {"dim", dim},
      {"array_output_bits", 20},
      {"spad_banks", 4},
      {"spad_bank_rows", 256},
      {"acc_banks", 2},
      {"acc_bank_rows", 128},
      {"dma_request_bytes", 64},
      {"bus_bytes", 16},
      {"ld_queue_entries", 8},
      {"ex_queue_entries", 16},
      {"st_queue_entries", 4},
      {"loads_in_flight", 2},
      {"dma_requests_in_flight", 16},
      {"mesh_tag_queue_entries", 6},
      {"mvin_scale_units", 4},
      {"acc_scale_latency_cycles", 8},
      {"store_write_queue_entries", 5},
      {"has_output_stationary", 1},
      {"has_weight_stationary", 1},
      {"has_transpose", 1},
      {"has_mvin_scale", 1},
      {"has_pooling", 1},
      {"has_first_layer_pixel_repeats", 1},
      {"has_loop_commands", 1},
      {"has_acc_full_width_store", 1},
      {"clock_khz", 500000},
      {"l2_bytes", 524288},
      {"l2_ways", 8},
      {"l2_line_bytes", 64},
      {"l2_hit_latency_cycles", 11},
      {"memory_latency_cycles", 7},
      {"memory_bytes_per_kilocycle", 8000},
      {"l2_mshrs", 10},
      {"memory_write_pause_cycles", 3},
      {"dram_banks", 8},
      {"dram_clock_khz", 666667},
      {"dram_write_lines_ahead", 1},
      {"dram_row_bytes", 16384},
      {"dram_row_accesses", 5},
      {"dram_read_latency_clocks", 10},
      {"dram_write_latency_clocks", 9},
      {"dram_burst_clocks", 4},
      {"dram_activate_clocks", 10},
      {"dram_precharge_clocks", 10},
      {"dram_row_open_clocks", 24},
      {"dram_row_idle_clocks", 0},
      {"dram_read_to_precharge_clocks", 5},
      {"dram_write_recovery_clocks", 10},
      {"dram_write_to_read_clocks", 5},
      {"dram_read_to_write_clocks", 1},
      {"dram_wake_clocks", 3},
      {"dram_refresh_period_clocks", 5200},
      {"dram_refresh_clocks", 107},
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

inline Config device(int64_t dim = 16) { return Config::from_pairs(device_fields(dim)); }

constexpr uint64_t kDram = 0x80010000;

// One region of DRAM with bytes 0, 1, 2, ...
struct Dram {
  explicit Dram(size_t bytes) : data(bytes) {
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(i);
    map.add({kDram, bytes, data.data(), true, "memory"});
  }
  std::vector<uint8_t> data;
  sim::MemoryMap map;
};

inline uint64_t float_bits(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof(word));
  return word;
}

constexpr uint32_t kAcc = 0x80000000u;
constexpr uint32_t kAccumulate = 0xC0000000u;
constexpr uint32_t kFullWidth = 0xA0000000u;
constexpr uint32_t kGarbage = 0xFFFFFFFFu;

constexpr uint64_t tile(uint32_t address, uint64_t rows, uint64_t cols) {
  return rows << 48 | cols << 32 | address;
}

inline Command config_ld(uint64_t stride_bytes, float scale = 1.0f, bool is_shrunk = false,
                         uint64_t id = 0, uint64_t block_stride = 16, uint64_t repeats = 1) {
  return {kConfig,
          float_bits(scale) << 32 | block_stride << 16 | repeats << 8 | id << 3 |
              uint64_t{is_shrunk} << 2 | kConfigLd,
          stride_bytes};
}
inline Command config_st(uint64_t stride_bytes, float scale = 1.0f, bool has_relu = false) {
  return {kConfig, uint64_t{has_relu} << 2 | kConfigSt, float_bits(scale) << 32 | stride_bytes};
}
inline Command config_ex(bool is_ws = true, bool is_a_transposed = false,
                         bool is_b_transposed = false, uint64_t shift = 0) {
  return {kConfig,
          uint64_t{1} << 16 | uint64_t{is_b_transposed} << 9 | uint64_t{is_a_transposed} << 8 |
              uint64_t{is_ws} << 2 | kConfigEx,
          uint64_t{1} << 48 | shift};
}

}  // namespace npu::gemmini::testing
