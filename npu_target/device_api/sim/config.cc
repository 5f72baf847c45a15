#include "config.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "error.h"

namespace npu::sim {
namespace {

// These limits are those of npu_target/config.py, which says what they are for.
constexpr int64_t kMaxField = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxRows = int64_t{1} << 25;
constexpr int64_t kMaxQueueEntries = 64;
constexpr int64_t kMaxBanks = 64;
constexpr int64_t kMaxMemoryBytes = int64_t{1} << 28;
constexpr int64_t kMaxL2Lines = int64_t{1} << 22;

struct Limits {
  std::string_view name;
  int64_t least;
  int64_t most;
};

// Of fields whose limits are not those of most: 1 to kMaxField, or 0 to 1 for what is built in.
constexpr Limits kLimits[] = {
    {"dim", 2, kMaxDim},
    {"array_output_bits", 17, 32},
    {"dma_request_bytes", 1, 4096},
    {"loads_in_flight", 1, kMaxQueueEntries},
    {"dma_requests_in_flight", 1, 1024},
    {"mesh_tag_queue_entries", 1, 1024},
    {"mvin_scale_units", 1, 1024},
    {"store_write_queue_entries", 1, 1024},
    {"host_queue_commands", 1, 1024},
    {"l2_ways", 1, 256},
    {"l2_hit_latency_cycles", 0, kMaxField},
    {"l2_mshrs", 1, 64},
    {"memory_latency_cycles", 0, kMaxField},
    {"memory_write_pause_cycles", 0, kMaxField},
    {"dram_banks", 0, 64},
    {"dram_write_lines_ahead", 0, kMaxField},
    {"dram_row_idle_clocks", 0, kMaxField},
    {"dram_wake_clocks", 0, kMaxField},
    {"host_cycles_per_command", 0, kMaxField},
    {"host_cycles_per_instruction", 0, kMaxField},
    {"host_branch_miss_cycles", 0, kMaxField},
    {"host_icache_miss_cycles", 0, kMaxField},
    {"host_icache_l2_cycles", 0, kMaxField},
    {"host_registers", 1, 64},
    {"host_icache_ways", 1, 64},
};

constexpr std::string_view kPowersOfTwo[] = {
    "dim",
    "spad_banks",
    "spad_bank_rows",
    "acc_banks",
    "acc_bank_rows",
    "dma_request_bytes",
    "bus_bytes",
    "l2_line_bytes",
    "host_icache_bytes",
    "host_icache_line_bytes",
    "host_icache_ways",
};

struct Field {
  const char* name;
  int64_t Config::* member;
};

constexpr Field kFields[] = {
#define NPU_FIELD_ENTRY(field) {#field, &Config::field},
    NPU_CONFIG_FIELDS(NPU_FIELD_ENTRY)
#undef NPU_FIELD_ENTRY
};

[[noreturn]] void fail(const std::string& message) {
  throw SimError(ErrorKind::kBadProgram, -1, "device config: " + message);
}

const Field* find(std::string_view name) {
  const auto* end = std::end(kFields);
  const auto* found =
      std::find_if(std::begin(kFields), end, [&](const Field& f) { return name == f.name; });
  return found == end ? nullptr : found;
}

Limits limits_of(std::string_view name) {
  for (const Limits& limits : kLimits) {
    if (limits.name == name) return limits;
  }
  if (name.substr(0, 4) == "has_") return {name, 0, 1};
  return {name, 1, kMaxField};
}

void check_at_most(const char* what, int64_t value, int64_t most) {
  if (value > most) {
    fail(std::string(what) + " needs at most " + std::to_string(most) + ", has " +
         std::to_string(value));
  }
}

void check_multiple(const char* what, int64_t value, int64_t of) {
  if (value % of != 0) {
    fail(std::string(what) + " needs a multiple of " + std::to_string(of) + ", has " +
         std::to_string(value));
  }
}

void check(const Config& config) {
  for (const Field& field : kFields) {
    const int64_t value = config.*field.member;
    const Limits limits = limits_of(field.name);
    if (value < limits.least || value > limits.most) {
      fail(std::string(field.name) + " needs " + std::to_string(limits.least) + " to " +
           std::to_string(limits.most) + ", has " + std::to_string(value));
    }
  }
  for (const std::string_view name : kPowersOfTwo) {
    const int64_t value = config.*find(name)->member;
    if ((value & (value - 1)) != 0) {
      fail(std::string(name) + " needs a power of two, has " + std::to_string(value));
    }
  }
  check_multiple("spad_bank_rows", config.spad_bank_rows, config.dim);
  check_multiple("acc_bank_rows", config.acc_bank_rows, config.dim);
  check_at_most("spad_banks", config.spad_banks, kMaxBanks);
  check_at_most("acc_banks", config.acc_banks, kMaxBanks);
  check_at_most("the scratchpad's rows", config.spad_rows(), kMaxRows);
  check_at_most("the accumulator's rows", config.acc_rows(), kMaxRows);
  check_at_most("the scratchpad's bytes", config.spad_rows() * config.dim, kMaxMemoryBytes);
  check_at_most("the accumulator's bytes", config.acc_rows() * config.dim * 4, kMaxMemoryBytes);
  check_at_most("ld, ex and st_queue_entries together",
                config.ld_queue_entries + config.ex_queue_entries + config.st_queue_entries,
                kMaxQueueEntries);
  check_at_most("bus_bytes", config.bus_bytes, config.dma_request_bytes);
  check_multiple("l2_bytes", config.l2_bytes, config.l2_ways * config.l2_line_bytes);
  check_multiple("dram_row_bytes", config.dram_row_bytes, config.l2_line_bytes);
  check_at_most("l2_bytes over l2_line_bytes", config.l2_bytes / config.l2_line_bytes, kMaxL2Lines);
  if (config.host_icache_bytes < config.host_icache_ways * config.host_icache_line_bytes) {
    fail("host_icache_bytes needs host_icache_ways x host_icache_line_bytes at least");
  }
  if (config.has_weight_stationary == 0 && config.has_output_stationary == 0) {
    fail("needs has_weight_stationary or has_output_stationary, has neither");
  }
}

}  // namespace

Config Config::from_pairs(const Pairs& pairs) {
  Config config;
  std::vector<const Field*> seen;
  for (const auto& [name, value] : pairs) {
    const Field* field = find(name);
    if (field == nullptr) {
      fail("unknown field '" + name + "'; the program and the device library differ in version");
    }
    if (std::find(seen.begin(), seen.end(), field) != seen.end()) {
      fail("field '" + name + "' is given twice");
    }
    seen.push_back(field);
    config.*field->member = value;
  }
  for (const Field& field : kFields) {
    if (std::find(seen.begin(), seen.end(), &field) == seen.end()) {
      fail("field '" + std::string(field.name) +
           "' is missing; the program and the device library differ in version");
    }
  }
  check(config);
  return config;
}

}  // namespace npu::sim
