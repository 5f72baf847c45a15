#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/turns.h"

#include <random>
#include <vector>

namespace npu::gemmini::testing {
namespace {

using sim::testing::Test;

using timing::Turns;

const Test last("timing/turns: one after another, whoever asks", [] {
  Turns turns(1);
  CHECK_EQUAL(turns.take(10, 5), 10);
  CHECK_EQUAL(turns.take(10, 5), 15);
  CHECK_EQUAL(turns.take(30, 5), 30);
  CHECK_EQUAL(turns.end(), 35);
});

const Test between("timing/turns: what is ready earlier and fits goes before others", [] {
  Turns turns(1);
  turns.take(100, 10);
  CHECK_EQUAL(turns.take(50, 10), 50);
  CHECK_EQUAL(turns.take(40, 11), 60);  // not between 40 and 50
  CHECK_EQUAL(turns.take(40, 10), 40);
  CHECK_EQUAL(turns.take(95, 5), 95);
  CHECK_EQUAL(turns.take(95, 5), 110);
});

const Test before("timing/turns: what starts too late is told when, and takes nothing", [] {
  Turns turns(1);
  turns.take(10, 10);
  turns.take(30, 10);
  const auto first_free = [&](int64_t ready) { return turns.take_before(ready, ready); };
  CHECK_EQUAL(first_free(5), 5);
  CHECK_EQUAL(first_free(12), 20);
  CHECK_EQUAL(first_free(35), 40);
  CHECK_EQUAL(first_free(50), 50);
  CHECK_EQUAL(turns.end(), 40);
  CHECK_EQUAL(turns.take_before(21, 12), 20);
  CHECK_EQUAL(turns.take_before(22, 12), 21);
  CHECK_EQUAL(turns.take_before(41, 35), 40);
  CHECK_EQUAL(turns.take_before(51, 50), 50);
  CHECK_EQUAL(first_free(12), 22);
  CHECK_EQUAL(first_free(35), 41);
  CHECK_EQUAL(turns.end(), 51);
});

const Test gap("timing/turns: who is ready begins in a gap that is too short, and others are later",
               [] {
                 const auto turns = [] {
                   Turns turns(1);
                   turns.take(20, 10);
                   return turns;
                 };
                 Turns fits = turns();
                 CHECK_EQUAL(fits.begin_in_gap(15, 5, 0), 15);
                 CHECK_EQUAL(fits.end(), 30);
                 Turns spares = turns();
                 CHECK_EQUAL(spares.begin_in_gap(15, 7, 2), 15);
                 CHECK_EQUAL(spares.end(), 30);
                 Turns late = turns();
                 CHECK_EQUAL(late.begin_in_gap(15, 8, 2), 15);
                 CHECK_EQUAL(late.end(), 31);
                 // What is left of the gap goes to the next, and then there is none.
                 CHECK_EQUAL(late.begin_in_gap(15, 1, 2), Turns::kNone);
                 CHECK_EQUAL(late.begin_in_gap(10, 1, 2), 10);
               });

const Test least("timing/turns: gaps too short to be of use are forgotten", [] {
  Turns turns(4);
  turns.take(3, 7);
  CHECK_EQUAL(turns.begin_in_gap(0, 1, 0), Turns::kNone);
  turns.take(14, 6);
  CHECK_EQUAL(turns.begin_in_gap(10, 1, 0), 10);
  CHECK_EQUAL(turns.begin_in_gap(10, 1, 0), Turns::kNone);
});

// Against every unit of time by itself. So few gaps are made that none is forgotten.
const Test brute("timing/turns: random requests find the first time that is free", [] {
  std::mt19937 random(1);
  const auto below = [&](int n) {
    return static_cast<int64_t>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < 200; ++round) {
    Turns turns(1);
    std::vector<bool> taken(1000);
    for (int i = 0; i < 12; ++i) {
      const int64_t ready = below(100);
      const int64_t duration = 1 + below(12);
      int64_t start = ready;
      const auto is_free = [&] {
        for (int64_t at = start; at < start + duration; ++at) {
          if (taken[static_cast<size_t>(at)]) return false;
        }
        return true;
      };
      int64_t first = ready;
      while (taken[static_cast<size_t>(first)]) ++first;
      while (!is_free()) ++start;
      CHECK_EQUAL(turns.take_before(first, ready), first);
      CHECK_EQUAL(duration == 1 ? turns.take_before(first + 1, ready) : turns.take(ready, duration),
                  start);
      for (int64_t at = start; at < start + duration; ++at) taken[static_cast<size_t>(at)] = true;
    }
  }
});

}  // namespace
}  // namespace npu::gemmini::testing
