#include "race.h"

#include "describe.h"
#include "error.h"

namespace npu::sim::races {

std::string text(const Named& named) {
  return "command " + std::to_string(named.index) + " " + describe(named.command);
}

void fail(const Named& now, const Named& before, const std::string& why) {
  fail(now, text(before), why);
}

void fail(const Named& now, const std::string& before, const std::string& why) {
  throw SimError(
      ErrorKind::kRace, now.index,
      text(now) + ": needs to come after " + before + " has completed, has no such order: " + why);
}

}  // namespace npu::sim::races
