// Loops one right behind the other, of which the second may overtake the first.
#include <string>
#include <utility>
#include <vector>

#include "../loops/loop_words.h"
#include "checked.h"
#include "device_api/cpp/check.h"

namespace npu::gemmini::testing {
namespace {

const std::vector<Command> kSetup = {config_ex(), config_ld(64), config_ld(64, 1.0f, false, 1),
                                     config_ld(64, 1.0f, false, 2), config_st(64)};
// Bits of LOOP_WS.
constexpr uint64_t kResidualAdd = 1 << 2;
constexpr uint64_t kNoLoadA = 1 << 3, kNoLoadB = 1 << 4, kNoLoadD = 1 << 5, kNoExecute = 1 << 6,
                   kNoStore = 1 << 7;
constexpr uint64_t kFirstHalfOfB = 1 << 16, kSecondHalfOfB = 2 << 16;
constexpr uint64_t kFirstHalfOfA = 1 << 18;
constexpr uint64_t kOut = kDram + (1 << 14);

MatmulWords matmul(uint64_t rs2 = 0, uint64_t rs1 = 0) {
  MatmulWords words;
  words.rs1 = rs1;
  words.rs2 = rs2;
  words.c = kOut;
  return words;
}
MatmulWords sums(uint64_t d = 0) {
  MatmulWords words = matmul();
  words.c = 0;
  words.d = d;
  return words;
}

void run(Checked& device, const std::vector<Command>& first, const std::vector<Command>& between,
         const std::vector<Command>& second) {
  device.run(kSetup);
  device.run(first);
  device.run(between);
  device.run(second);
}

// The second loop races behind the first; not behind what waits for that.
std::string race_of(const std::vector<Command>& first, const std::vector<Command>& second) {
  Checked passed;
  run(passed, first, {{kFlush, 0, 0}}, second);
  Checked fenced;
  run(fenced, first, {}, {});
  fenced.simulator.finish();
  fenced.run(second);
  Checked device;
  return CHECK_FAILS(kRace, run(device, first, {}, second));
}
void check_ordered(const std::vector<Command>& first, const std::vector<Command>& second) {
  Checked device;
  run(device, first, {}, second);
  device.simulator.finish();
}

const Test residual("loop order: one setting for both says whether LOOP_WS adds", [] {
  MatmulWords add = matmul(kResidualAdd);
  add.b = 0;  // a sum of two loads is a race of its own
  const std::string error = race_of(matmul().words(), add.words());
  CHECK(error.find("command 16 loop_ws") != std::string::npos);
  CHECK(error.find("command 10 loop_ws") != std::string::npos);
  race_of(add.words(), matmul().words());
  check_ordered(add.words(), add.words());
  ConvWords between;
  between.output = kOut;
  Checked device;
  run(device, matmul().words(), between.words(), add.words());
});

const Test loads("loop order: loads into rows that the loop before still reads", [] {
  const auto a_first = matmul(0, kFirstHalfOfA).words();
  race_of(a_first, a_first);
  race_of(matmul(0, kFirstHalfOfB).words(), matmul(0, kFirstHalfOfB).words());
  check_ordered(matmul(0, kFirstHalfOfB).words(), matmul(0, kSecondHalfOfB).words());
  check_ordered(matmul().words(), matmul().words());
  // Without an address nothing is loaded, and both read.
  MatmulWords reused = matmul(0, kFirstHalfOfA);
  reused.a = 0;
  check_ordered(a_first, reused.words());
  // Two loops are under way at once, not three.
  Checked device;
  run(device, matmul().words(), matmul().words(), matmul().words());
});

const Test sums_of_loops("loop order: D over sums that the loop before still adds to", [] {
  race_of(sums().words(), sums(kDram).words());
  check_ordered(sums(kDram).words(), sums().words());
  check_ordered(sums(kDram).words(), matmul().words());
  MatmulWords stored = matmul();
  stored.d = kDram;
  check_ordered(stored.words(), stored.words());
});

const Test left_out("loop order: parts that loops leave out hold up nothing", [] {
  constexpr uint64_t kLoadsAlone = kNoExecute | kNoStore;
  constexpr uint64_t kNoLoads = kNoLoadA | kNoLoadB | kNoLoadD;
  // In the same half; a loop that computes takes up the loads that it has, and not others.
  const auto loads_b = matmul(kLoadsAlone | kNoLoadA | kNoLoadD, kFirstHalfOfB).words();
  race_of(loads_b, matmul(kNoLoads, kFirstHalfOfB).words());
  check_ordered(loads_b, matmul(kNoLoadB, kSecondHalfOfB).words());
  MatmulWords loads_none = matmul(0, kFirstHalfOfB);
  loads_none.b = 0;
  check_ordered(loads_b, loads_none.words());
  // A loop that computes alone, then one that stores alone.
  MatmulWords computes = matmul(kNoStore);
  race_of(computes.words(), matmul(kNoLoads | kNoExecute).words());
});

const Test convolutions("loop order: convolutions", [] {
  ConvWords words;
  words.output = kOut;
  check_ordered(words.words(), words.words());
  words.rs1 = kFirstHalfOfA;
  const std::string error = race_of(words.words(), words.words());
  CHECK(error.find("loads of the input") != std::string::npos);
  ConvWords kept;
  kept.output = 0;
  race_of(kept.words(), kept.words());
  ConvWords adds = kept;
  adds.bias = 0;
  check_ordered(kept.words(), adds.words());
});

}  // namespace
}  // namespace npu::gemmini::testing
