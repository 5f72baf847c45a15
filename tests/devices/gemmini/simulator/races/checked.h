// A simulator that checks races.
#pragma once

#include <vector>

#include "../device.h"
#include "gemmini/simulator/simulator.h"

namespace npu::gemmini::testing {

struct Checked {
  Checked() : dram(1 << 16), simulator(device(), dram.map, checked()) {}
  static sim::RunOptions checked() {
    sim::RunOptions options;
    options.checks_races = true;
    return options;
  }
  void run(const std::vector<Command>& commands) {
    for (const Command& command : commands) simulator.issue(command, 1);
  }
  Dram dram;
  Simulator simulator;
};

}  // namespace npu::gemmini::testing
