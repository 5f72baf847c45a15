// A small device that computes values, and commands one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "device.h"
#include "gemmini/simulator/functional.h"

namespace npu::gemmini::testing {

struct Device {
  explicit Device(Config::Pairs fields = device_fields())
      : config(Config::from_pairs(fields)), dram(1 << 16), functional(config, dram.map) {}

  void run(const std::vector<Command>& commands) {
    for (const Command& command : commands) functional.run(command, index++);
  }

  Config config;
  Dram dram;
  Functional functional;
  int64_t index = 0;
};

}  // namespace npu::gemmini::testing
