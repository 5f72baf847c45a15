#include "session.h"

#include <cstdio>
#include <mutex>
#include <utility>

namespace npu {
namespace {

std::mutex session_mutex;
sim::Limits session_limits;
bool session_checks_races = true;
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

bool checks_races() {
  const std::lock_guard<std::mutex> lock(session_mutex);
  return session_checks_races;
}

void set_race_checks(bool enabled) {
  const std::lock_guard<std::mutex> lock(session_mutex);
  session_checks_races = enabled;
}

void record_launch(const std::string& program_name, const sim::Config& config,
                   const sim::Simulator& simulator) {
  clock_ns +=
      static_cast<double>(simulator.stats().cycles) * 1e6 / static_cast<double>(config.clock_khz);
  const std::string stats = stats_json(program_name, simulator);
  const std::lock_guard<std::mutex> lock(session_mutex);
  session_stats = stats;
}

std::string stats_json(const std::string& program_name, const sim::Simulator& simulator) {
  const sim::timing::Stats stats = simulator.stats();
  const std::pair<const char*, int64_t> numbers[] = {
      {"cycles", stats.cycles},
      {"macs", stats.macs},
      {"commands", stats.commands},
      {"bytes_loaded", stats.bytes_loaded},
      {"bytes_stored", stats.bytes_stored},
      {"l2_hits", stats.l2_hits},
      {"l2_misses", stats.l2_misses},
      {"array_busy_cycles", stats.array_busy_cycles},
      {"bank_conflict_cycles", stats.bank_conflict_cycles},
      {"host_stall_cycles", stats.host_stall_cycles},
  };
  std::string json = "{\"program\": " + json_string(program_name);
  for (const auto& [name, value] : numbers) {
    json += ", \"" + std::string(name) + "\": " + std::to_string(value);
  }
  return json + "}";
}

std::string last_stats() {
  const std::lock_guard<std::mutex> lock(session_mutex);
  return session_stats;
}

}  // namespace npu
