#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/line_places.h"

namespace npu::gemmini::testing {
namespace {

using sim::testing::Test;
using timing::LinePlaces;

const Test empty("timing/line_places: at first none is anywhere", [] {
  const LinePlaces places(8, 16);
  CHECK_EQUAL(places.count(), 128u);
  for (uint64_t line : {0, 1, 16, 4096}) CHECK_EQUAL(places.find(line), LinePlaces::kNowhere);
  CHECK_EQUAL(places.line_at(5), LinePlaces::kNoLine);
});

// Lines come to random ways of their sets; a map knows where each is.
void compare(uint64_t ways, uint64_t sets, uint64_t lines, uint64_t seed) {
  LinePlaces places(ways, sets);
  std::map<uint64_t, uint64_t> known;
  std::mt19937_64 random(seed);
  const uint64_t least = random() >> 8;
  for (int i = 0; i < 3000; ++i) {
    const uint64_t line = least + random() % lines;
    const auto found = known.find(line);
    CHECK_EQUAL(places.find(line), found == known.end() ? LinePlaces::kNowhere : found->second);
    if (found != known.end()) continue;
    const uint64_t place = places.place(places.set_of(line), random() % ways);
    known.erase(places.line_at(place));
    places.put(place, line);
    known[line] = place;
    CHECK_EQUAL(places.line_at(place), line);
  }
}

const Test model("timing/line_places: found where they were put, of any number of ways and sets",
                 [] {
                   for (uint64_t seed = 0; seed < 4; ++seed) {
                     for (const uint64_t ways : {1, 2, 4, 7, 8, 16}) {
                       for (const uint64_t sets : {1, 2, 12, 64, 100})
                         compare(ways, sets, 3 * ways * sets, seed);
                     }
                   }
                 });

const Test alike("timing/line_places: lines of a set that look alike are told apart", [] {
  // Of 256 lines of a set the bytes that are compared first are all different, and those of the
  // next the same again.
  constexpr uint64_t kSets = 4;
  LinePlaces places(8, kSets);
  for (uint64_t way = 0; way < 8; ++way) places.put(places.place(1, way), 1 + 256 * kSets * way);
  for (uint64_t way = 0; way < 8; ++way) {
    CHECK_EQUAL(places.find(1 + 256 * kSets * way), 8 + way);
  }
  CHECK_EQUAL(places.find(1 + 256 * kSets * 8), LinePlaces::kNowhere);
  CHECK_EQUAL(places.find(1 + kSets), LinePlaces::kNowhere);
});

}  // namespace
}  // namespace npu::gemmini::testing
