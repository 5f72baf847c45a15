#include "gemmini/simulator/races/race.h"

#include "gemmini/simulator/describe.h"
#include "sim/error.h"

namespace npu::gemmini::races {

std::string text(const Named& named) {
  return "command " + std::to_string(named.index) + " " + describe(named.command);
}

void fail(const Named& now, const Named& before, const std::string& why) {
  fail(now, text(before), why);
}

void fail(const Named& now, const std::string& before, const std::string& why) {
  throw sim::SimError(
      sim::ErrorKind::kRace, now.index,
      text(now) + ": needs to come after " + before + " has completed, has no such order: " + why);
}

}  // namespace npu::gemmini::races
