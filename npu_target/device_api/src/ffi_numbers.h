// Numbers by name, as Python hands them over and gets them.
#pragma once

#include <tvm/ffi/container/map.h>
#include <tvm/ffi/string.h>

#include <string>

#include "sim/config_fields.h"

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

}  // namespace npu
