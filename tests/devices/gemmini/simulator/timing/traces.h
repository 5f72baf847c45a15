// Streams measured on a cycle-exact simulation of the generated hardware.
//
// The measurements are not part of the repository. They are looked for in the folder that
// NPU_REFERENCE_DIR names, else in shared/reference beside the checkout.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stream.h"

namespace npu::gemmini::testing {

struct Issue {
  uint32_t host_cycles;
  Command command;
};

struct Trace {
  std::string name;
  std::string group;
  std::map<std::string, std::vector<double>> cycles;  // by memory, of successive runs
  Stream setup;
  std::vector<Issue> issues;
};

// The streams of a group; none, with a word about it, when there are no measurements.
std::vector<Trace> traces_of(const std::string& group);

}  // namespace npu::gemmini::testing
