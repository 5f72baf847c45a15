// The hardware's numbers, as NpuConfig states them on the Python side.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace npu::sim {

// Every field of NpuConfig except its name, under the same name. Booleans are 0 or 1.
// A field added here has to be added to npu_target/config.py, and the other way round.
#define NPU_CONFIG_FIELDS(FIELD)       \
  FIELD(dim)                           \
  FIELD(array_output_bits)             \
  FIELD(spad_banks)                    \
  FIELD(spad_bank_rows)                \
  FIELD(acc_banks)                     \
  FIELD(acc_bank_rows)                 \
  FIELD(dma_request_bytes)             \
  FIELD(bus_bytes)                     \
  FIELD(ld_queue_entries)              \
  FIELD(ex_queue_entries)              \
  FIELD(st_queue_entries)              \
  FIELD(loads_in_flight)               \
  FIELD(dma_requests_in_flight)        \
  FIELD(mesh_tag_queue_entries)        \
  FIELD(mvin_scale_units)              \
  FIELD(acc_scale_latency_cycles)      \
  FIELD(store_write_queue_entries)     \
  FIELD(has_output_stationary)         \
  FIELD(has_weight_stationary)         \
  FIELD(has_transpose)                 \
  FIELD(has_mvin_scale)                \
  FIELD(has_pooling)                   \
  FIELD(has_first_layer_pixel_repeats) \
  FIELD(has_loop_commands)             \
  FIELD(has_acc_full_width_store)      \
  FIELD(clock_khz)                     \
  FIELD(l2_bytes)                      \
  FIELD(l2_ways)                       \
  FIELD(l2_line_bytes)                 \
  FIELD(l2_hit_latency_cycles)         \
  FIELD(l2_mshrs)                      \
  FIELD(memory_latency_cycles)         \
  FIELD(memory_bytes_per_kilocycle)    \
  FIELD(memory_write_pause_cycles)     \
  FIELD(dram_banks)                    \
  FIELD(dram_clock_khz)                \
  FIELD(dram_write_lines_ahead)        \
  FIELD(dram_row_bytes)                \
  FIELD(dram_row_accesses)             \
  FIELD(dram_row_idle_clocks)          \
  FIELD(dram_row_open_clocks)          \
  FIELD(dram_activate_clocks)          \
  FIELD(dram_precharge_clocks)         \
  FIELD(dram_burst_clocks)             \
  FIELD(dram_read_latency_clocks)      \
  FIELD(dram_write_latency_clocks)     \
  FIELD(dram_read_to_precharge_clocks) \
  FIELD(dram_write_recovery_clocks)    \
  FIELD(dram_wake_clocks)              \
  FIELD(dram_refresh_period_clocks)    \
  FIELD(dram_refresh_clocks)           \
  FIELD(host_cycles_per_command)       \
  FIELD(host_cycles_per_instruction)   \
  FIELD(host_branch_miss_cycles)       \
  FIELD(host_registers)                \
  FIELD(host_icache_bytes)             \
  FIELD(host_icache_line_bytes)        \
  FIELD(host_icache_ways)              \
  FIELD(host_icache_miss_cycles)       \
  FIELD(host_icache_l2_cycles)         \
  FIELD(host_queue_commands)

// The largest array there can be.
constexpr int64_t kMaxDim = 256;

struct Config {
  using Pairs = std::vector<std::pair<std::string, int64_t>>;

  // Throws SimError bad_program for an unknown, missing or repeated key, and for exactly the values
  // that NpuConfig refuses.
  static Config from_pairs(const Pairs& pairs);

#define NPU_DECLARE_FIELD(field) int64_t field = 0;
  NPU_CONFIG_FIELDS(NPU_DECLARE_FIELD)
#undef NPU_DECLARE_FIELD

  int64_t spad_rows() const { return spad_banks * spad_bank_rows; }
  int64_t acc_rows() const { return acc_banks * acc_bank_rows; }

  // Columns one command may move, with elements of `element_bytes` in memory.
  int64_t dma_max_cols(int64_t element_bytes) const {
    const int64_t blocks = dma_request_bytes / (dim * element_bytes);
    return dim * (blocks > 1 ? blocks : 1);
  }
};

}  // namespace npu::sim
