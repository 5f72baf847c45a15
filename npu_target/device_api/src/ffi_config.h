// The device's numbers as Python hands them over.
#pragma once

#include <tvm/ffi/container/map.h>
#include <tvm/ffi/string.h>

#include <string>

#include "../sim/config.h"

namespace npu {

// Throws SimError bad_program (see Config::from_pairs).
inline sim::Config config_of(const tvm::ffi::Map<tvm::ffi::String, int64_t>& fields) {
  sim::Config::Pairs pairs;
  for (const auto& [name, value] : fields) pairs.emplace_back(std::string(name), value);
  return sim::Config::from_pairs(pairs);
}

}  // namespace npu
