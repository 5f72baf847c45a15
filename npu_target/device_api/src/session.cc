#include "session.h"

#include <cstdio>
#include <mutex>

namespace npu {
namespace {

std::mutex session_mutex;
sim::Limits session_limits;
std::string session_stats = "{}";

thread_local double clock_ns = 0;

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

}  // namespace

double simulated_clock_ns() { return clock_ns; }

sim::Limits current_limits() {
  const std::lock_guard<std::mutex> lock(session_mutex);
  return session_limits;
}

void set_limits(sim::Limits limits) {
  const std::lock_guard<std::mutex> lock(session_mutex);
  session_limits = limits;
}

void record_launch(const std::string& program_name, const sim::Config& config,
                   const sim::Simulator& simulator, uint64_t cycles) {
  clock_ns += static_cast<double>(cycles) * 1e6 / static_cast<double>(config.clock_khz);
  const std::string stats = stats_json(program_name, simulator, cycles);
  const std::lock_guard<std::mutex> lock(session_mutex);
  session_stats = stats;
}

std::string stats_json(const std::string& program_name, const sim::Simulator& simulator,
                       uint64_t cycles) {
  const sim::Counters& counters = simulator.counters();
  return "{\"program\": " + json_string(program_name) + ", \"cycles\": " + std::to_string(cycles) +
         ", \"macs\": " + std::to_string(counters.macs) +
         ", \"commands\": " + std::to_string(counters.commands) +
         ", \"bytes_loaded\": " + std::to_string(counters.bytes_loaded) +
         ", \"bytes_stored\": " + std::to_string(counters.bytes_stored) + "}";
}

std::string last_stats() {
  const std::lock_guard<std::mutex> lock(session_mutex);
  return session_stats;
}

}  // namespace npu
