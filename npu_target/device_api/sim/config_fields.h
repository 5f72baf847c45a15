// How a device's numbers come from Python: fields by name, and what is said of one that is not
// right.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "sim/error.h"

namespace npu::sim {

using ConfigPairs = std::vector<std::pair<std::string, int64_t>>;

template <typename Config>
struct ConfigField {
  const char* name;
  int64_t Config::* member;
};

[[noreturn]] inline void fail_config(const std::string& message) {
  throw SimError(ErrorKind::kBadProgram, -1, "device config: " + message);
}

// What the Python side says of the same.
[[noreturn]] inline void fail_config(const char* what, int64_t value, const std::string& needs) {
  fail_config(std::string(what) + " is " + std::to_string(value) + ", must be " + needs);
}

// A limit as it is written, with its value where it is not a number.
inline std::string shown_limit(const char* text, int64_t value) {
  const std::string number = std::to_string(value);
  return text == number ? number : std::string(text) + " (" + number + ")";
}

// Each throws SimError bad_program for a value beyond a limit.
inline void check_range(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  fail_config(name, value, "between " + std::to_string(least) + " and " + std::to_string(most));
}
inline void check_power_of_two(const char* name, int64_t value) {
  if ((value & (value - 1)) != 0) fail_config(name, value, "a power of two");
}
inline void check_multiple(const char* text, int64_t value, const char* of_text, int64_t of) {
  if (value % of != 0) fail_config(text, value, "a multiple of " + shown_limit(of_text, of));
}
inline void check_at_least(const char* text, int64_t value, const char* least_text, int64_t least) {
  if (value < least) fail_config(text, value, "at least " + shown_limit(least_text, least));
}
inline void check_at_most(const char* text, int64_t value, const char* most_text, int64_t most,
                          const char* reason) {
  if (value <= most) return;
  fail_config(text, value, "at most " + shown_limit(most_text, most) + ", " + reason);
}

// Throws SimError bad_program for an unknown, missing or repeated key. The values are not checked.
// Pairs in the order of the fields, which files have, are found at once.
template <typename Config, size_t kCount>
Config config_from_pairs(const ConfigField<Config> (&fields)[kCount], const ConfigPairs& pairs) {
  constexpr const char* kVersion = "; the program and the device library differ in version";
  Config config;
  std::array<bool, kCount> is_given = {};
  size_t next = 0;
  for (const auto& [name, value] : pairs) {
    size_t index = next;
    if (index == kCount || name != fields[index].name) {
      const auto* found = std::find_if(std::begin(fields), std::end(fields),
                                       [&, &key = name](const auto& f) { return key == f.name; });
      index = static_cast<size_t>(found - std::begin(fields));
    }
    if (index == kCount) fail_config("unknown field '" + name + "'" + kVersion);
    if (is_given[index]) fail_config("field '" + name + "' is given twice");
    is_given[index] = true;
    config.*fields[index].member = value;
    next = index + 1;
  }
  for (size_t index = 0; index < kCount; ++index) {
    if (is_given[index]) continue;
    fail_config("field '" + std::string(fields[index].name) + "' is missing" + kVersion);
  }
  return config;
}

}  // namespace npu::sim
