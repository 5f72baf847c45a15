#include "config.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "error.h"

namespace npu::sim {
namespace {

struct Field {
  const char* name;
  int64_t Config::* member;
};

constexpr Field kFields[] = {
#define FIELD(name, least, most) {#name, &Config::name},
#include "limits.def"
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

// What npu_target/device/limits.py says of the same.
[[noreturn]] void fail(const char* what, int64_t value, const std::string& needs) {
  fail(std::string(what) + " is " + std::to_string(value) + ", must be " + needs);
}

// A limit as it is written, with its value where it is not a number.
std::string shown(const char* text, int64_t value) {
  const std::string number = std::to_string(value);
  return text == number ? number : std::string(text) + " (" + number + ")";
}

}  // namespace

void Config::check() const {
#define FIELD(name, least, most)                                                            \
  if (name < least || name > most) {                                                        \
    fail(#name, name, "between " + std::to_string(least) + " and " + std::to_string(most)); \
  }
#include "limits.def"
#define POWER_OF_TWO(name) \
  if ((name & (name - 1)) != 0) fail(#name, name, "a power of two");
#define MULTIPLE(value, of) \
  if ((value) % (of) != 0) fail(#value, value, "a multiple of " + shown(#of, of));
#define AT_LEAST(value, least) \
  if ((value) < (least)) fail(#value, value, "at least " + shown(#least, least));
#define AT_MOST(value, most, reason) \
  if ((value) > (most)) fail(#value, value, "at most " + shown(#most, most) + ", " + reason);
#include "limits.def"
}

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
  config.check();
  return config;
}

}  // namespace npu::sim
