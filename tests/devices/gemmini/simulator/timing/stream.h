// Streams of commands for the cycle model, and what they cost.
#pragma once

#include <cstdint>
#include <vector>

#include "../device.h"
#include "gemmini/simulator/command.h"
#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/timing.h"

namespace npu::gemmini::testing {

// The default device over a memory of one cycle, with the small memories of device().
inline Config timing_device() {
  Config config = device();
  config.memory_latency_cycles = 5;
  config.memory_write_pause_cycles = 5;
  config.dram_banks = 0;
  return config;
}

using Stream = std::vector<Command>;

inline Command mvin(uint64_t address, uint32_t to, uint64_t rows, uint64_t cols) {
  return {kMvin, address, tile(to, rows, cols)};
}
inline Command mvout(uint64_t address, uint32_t from, uint64_t rows, uint64_t cols) {
  return {kMvout, address, tile(from, rows, cols)};
}
inline Command preload(uint32_t b, uint32_t c, uint64_t rows = 16) {
  return {kPreload, tile(b, 16, 16), tile(c, rows, 16)};
}
inline Command compute(uint32_t a, uint64_t rows = 16, uint32_t d = kGarbage) {
  return {kComputePreloaded, tile(a, rows, 16), tile(d, rows, 16)};
}
inline Stream repeat(int times, const Stream& part) {
  Stream all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// What most tests configure: identity scales, DRAM rows of 64 bytes, weight-stationary.
inline Stream usual_setup() { return {config_ld(64), config_st(64), config_ex()}; }

// Cycles from a fence to a fence around `stream`, the host spending a cycle on each command.
struct Cost {
  uint64_t cold = 0;
  uint64_t warm = 0;  // once more, over the same memory
  timing::Stats stats;
};
inline Cost cost(const Config& config, const Stream& stream, const Stream& setup = usual_setup(),
                 uint32_t host_cycles = 1) {
  Timing timing(config);
  for (const Command& command : setup) timing.issue(command, 1);
  const auto run = [&] {
    const uint64_t start = timing.finish();
    for (const Command& command : stream) timing.issue(command, host_cycles);
    return timing.finish() - start;
  };
  Cost result;
  result.cold = run();
  result.warm = run();
  result.stats = timing.stats();
  return result;
}
inline uint64_t warm(const Stream& stream, const Config& config = timing_device()) {
  return cost(config, stream).warm;
}

}  // namespace npu::gemmini::testing
