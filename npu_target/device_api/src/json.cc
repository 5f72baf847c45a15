#include "src/json.h"

#include <cstdio>

namespace npu {
namespace {

std::string members(const sim::NamedNumbers& numbers) {
  std::string json;
  for (const auto& [name, value] : numbers) {
    json += (json.empty() ? "" : ", ") + json_string(name) + ": " + std::to_string(value);
  }
  return json;
}

}  // namespace

std::string json_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string json_numbers(const sim::NamedNumbers& numbers) { return "{" + members(numbers) + "}"; }

std::string json_stats(const sim::Stats& stats) {
  return members({{"cycles", stats.cycles},
                  {"commands", stats.commands},
                  {"macs", stats.macs},
                  {"bytes_loaded", stats.bytes_loaded},
                  {"bytes_stored", stats.bytes_stored},
                  {"host_stall_cycles", stats.host_stall_cycles}}) +
         ", \"named\": " + json_numbers(stats.own);
}

}  // namespace npu
