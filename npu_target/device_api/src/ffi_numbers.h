// Numbers by name, as Python hands them over and gets them.
#pragma once

#include <tvm/ffi/container/map.h>
#include <tvm/ffi/string.h>

#include <string>

#include "sim/config_fields.h"
#include "sim/host_config.h"
#include "sim/program.h"

namespace npu {

using FfiNumbers = tvm::ffi::Map<tvm::ffi::String, int64_t>;

inline sim::ConfigPairs pairs_of(const FfiNumbers& numbers) {
  sim::ConfigPairs pairs;
  for (const auto& [name, value] : numbers) pairs.emplace_back(std::string(name), value);
  return pairs;
}

inline FfiNumbers numbers_of(const sim::ConfigPairs& pairs) {
  FfiNumbers numbers;
  for (const auto& [name, value] : pairs) numbers.Set(name, value);
  return numbers;
}

// Has a program run on a device with these numbers; with none, it stays on its own.
inline void put_on(const FfiNumbers& numbers, sim::Program& program) {
  if (numbers.empty()) return;
  program.numbers = pairs_of(numbers);
  program.host = sim::HostConfig::from_pairs(program.numbers);
}

}  // namespace npu
