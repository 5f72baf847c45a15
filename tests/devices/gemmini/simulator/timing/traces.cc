#include "traces.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "device_api/cpp/check.h"
#include "json.h"

namespace npu::gemmini::testing {
namespace {

// What the host core needs for so many instructions between two commands. The traces give no
// more than the count. Short stretches advance operands by additions, a cycle each. Longer ones
// compute loop indices by multiplying and dividing; over hundreds of instructions the core's other
// pauses prevail.
uint32_t host_cycles(int64_t instructions) {
  constexpr int64_t kPlainInstructions = 16;
  const int64_t pauses = std::min(instructions - kPlainInstructions, 8 + 3 * instructions / 10);
  return static_cast<uint32_t>(instructions + std::max<int64_t>(0, pauses));
}

Command command_of(const Json& words, size_t first) {
  const auto word = [&](size_t i) {
    const Json& item = words.items.at(i);
    return item.text.empty() ? static_cast<uint64_t>(item.number)
                             : uint64_t{std::stoull(item.text, nullptr, 16)};
  };
  return {static_cast<uint8_t>(words.items.at(first).number), word(first + 1), word(first + 2)};
}

Trace trace_of(const Json& json) {
  Trace trace;
  trace.name = json.at("name").text;
  trace.group = json.at("group").text;
  for (const auto& [memory, runs] : json.at("cycles").fields) {
    for (const Json& run : runs.items) {
      trace.cycles[memory].push_back(static_cast<double>(run.number));
    }
  }
  for (const Json& words : json.at("setup").items) trace.setup.push_back(command_of(words, 0));
  int64_t retired = 0;
  for (const Json& words : json.at("commands").items) {
    const int64_t now = words.items.at(0).number;
    trace.issues.push_back({host_cycles(now - retired), command_of(words, 1)});
    retired = now;
  }
  return trace;
}

std::filesystem::path traces_path() {
  std::filesystem::path folder;
  if (const char* given = std::getenv("NPU_REFERENCE_DIR")) {
    folder = given;
  } else {
    // This file lies in tests/devices/gemmini/simulator/timing of the checkout.
    folder = std::filesystem::absolute(__FILE__).lexically_normal().parent_path() /
             "../../../../../../shared/reference";
  }
  return folder / "traces.jsonl";
}

}  // namespace

std::vector<Trace> traces_of(const std::string& group) {
  std::ifstream file(traces_path());
  if (!file) {
    std::printf("SKIPPED timing/traces %s: no %s; NPU_REFERENCE_DIR may name its folder\n",
                group.c_str(), traces_path().lexically_normal().string().c_str());
    return {};
  }
  std::vector<Trace> traces;
  for (std::string line; std::getline(file, line);) {
    Trace trace = trace_of(Json::parse(line));
    if (trace.group == group) traces.push_back(std::move(trace));
  }
  CHECK(!traces.empty());
  return traces;
}

}  // namespace npu::gemmini::testing
