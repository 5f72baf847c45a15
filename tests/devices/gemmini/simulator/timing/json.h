// As much of JSON as the measured streams are written in: objects, arrays, strings without
// escapes, integers and null.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace npu::gemmini::testing {

struct Json {
  std::string text;  // of a string
  int64_t number = 0;
  std::vector<Json> items;
  std::map<std::string, Json> fields;

  // Throws std::runtime_error saying where, for anything else than one value.
  static Json parse(const std::string& text);

  // Throws std::runtime_error when there is no such field.
  const Json& at(const std::string& field) const;
  bool has(const std::string& field) const { return fields.count(field) != 0; }
};

}  // namespace npu::gemmini::testing
