#include "src/session.h"

#include <mutex>

#include "src/ffi_error.h"
#include "src/json.h"

namespace npu {
namespace {

std::mutex session_mutex;
uint64_t session_max_cycles = 0;
bool session_checks_races = true;
std::string session_stats = "{}";

thread_local double clock_ns = 0;

}  // namespace

double simulated_clock_ns() { return clock_ns; }

sim::RunOptions launch_options() {
  const std::lock_guard<std::mutex> lock(session_mutex);
  sim::RunOptions options;
  options.max_cycles = session_max_cycles;
  options.checks_races = session_checks_races;
  options.poll = stop_if_interrupted;
  return options;
}

void set_max_cycles(uint64_t max_cycles) {
  const std::lock_guard<std::mutex> lock(session_mutex);
  session_max_cycles = max_cycles;
}

void set_race_checks(bool enabled) {
  const std::lock_guard<std::mutex> lock(session_mutex);
  session_checks_races = enabled;
}

void record_launch(const std::string& program_name, const sim::HostConfig& config,
                   const sim::Stats& stats) {
  clock_ns += static_cast<double>(stats.cycles) * 1e6 / static_cast<double>(config.clock_khz);
  const std::string json = launch_json(program_name, stats);
  const std::lock_guard<std::mutex> lock(session_mutex);
  session_stats = json;
}

std::string launch_json(const std::string& program_name, const sim::Stats& stats) {
  return "{\"program\": " + json_string(program_name) + ", " + json_stats(stats) + "}";
}

std::string last_stats() {
  const std::lock_guard<std::mutex> lock(session_mutex);
  return session_stats;
}

}  // namespace npu
