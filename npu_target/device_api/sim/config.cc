#include "config.h"

#include <algorithm>
#include <limits>

#include "error.h"

namespace npu::sim {
namespace {

constexpr int64_t kMaxField = std::numeric_limits<int32_t>::max();
// What a local address can name: 26 bits of row, one of them kept for the garbage address.
constexpr int64_t kMaxRows = int64_t{1} << 25;
constexpr int64_t kMaxMemoryBytes = int64_t{1} << 30;
// More than any host core has, and few enough to look at one by one.
constexpr int64_t kMaxHostRegisters = 64;
constexpr int64_t kMaxHostWays = 64;

struct Field {
  const char* name;
  int64_t Config::* member;
};

constexpr Field kFields[] = {
#define NPU_FIELD_ENTRY(field) {#field, &Config::field},
    NPU_CONFIG_FIELDS(NPU_FIELD_ENTRY)
#undef NPU_FIELD_ENTRY
};

// Fields that divide or size something in the simulator: zero is not a device.
constexpr const char* kPositiveFields[] = {
    "dim",
    "spad_banks",
    "spad_bank_rows",
    "acc_banks",
    "acc_bank_rows",
    "dma_request_bytes",
    "bus_bytes",
    "ld_queue_entries",
    "ex_queue_entries",
    "st_queue_entries",
    "loads_in_flight",
    "dma_requests_in_flight",
    "mesh_tag_queue_entries",
    "mvin_scale_units",
    "store_write_queue_entries",
    "clock_khz",
    "l2_bytes",
    "l2_ways",
    "l2_line_bytes",
    "memory_bytes_per_kilocycle",
    "host_registers",
    "host_icache_bytes",
    "host_icache_line_bytes",
    "host_icache_ways",
    "host_queue_commands",
};

[[noreturn]] void fail(const std::string& message) {
  throw SimError(ErrorKind::kBadProgram, -1, "device config: " + message);
}

const Field* find(const std::string& name) {
  const auto* end = std::end(kFields);
  const auto* found =
      std::find_if(std::begin(kFields), end, [&](const Field& f) { return name == f.name; });
  return found == end ? nullptr : found;
}

void check(const Config& config) {
  for (const Field& field : kFields) {
    const int64_t value = config.*field.member;
    if (value < 0 || value > kMaxField) {
      fail(std::string(field.name) + " needs 0 to " + std::to_string(kMaxField) + ", has " +
           std::to_string(value));
    }
  }
  for (const char* name : kPositiveFields) {
    if (config.*find(name)->member == 0) fail(std::string(name) + " needs at least 1, has 0");
  }
  if (config.host_registers > kMaxHostRegisters || config.host_icache_ways > kMaxHostWays) {
    fail("host_registers and host_icache_ways need at most 64, have " +
         std::to_string(config.host_registers) + " and " + std::to_string(config.host_icache_ways));
  }
  // The array's kernels and the bank arithmetic work on powers of two, as the hardware does.
  if (config.dim < 2 || config.dim > kMaxDim || (config.dim & (config.dim - 1)) != 0) {
    fail("dim needs a power of two from 2 to " + std::to_string(kMaxDim) + ", has " +
         std::to_string(config.dim));
  }
  const int64_t spad_rows = config.spad_rows();
  const int64_t acc_rows = config.acc_rows();
  if (spad_rows > kMaxRows || acc_rows > kMaxRows) {
    fail("spad_rows and acc_rows need at most " + std::to_string(kMaxRows) + ", have " +
         std::to_string(spad_rows) + " and " + std::to_string(acc_rows));
  }
  if (spad_rows * config.dim > kMaxMemoryBytes || acc_rows * config.dim * 4 > kMaxMemoryBytes) {
    fail("the on-chip memories need at most " + std::to_string(kMaxMemoryBytes) + " B each");
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
