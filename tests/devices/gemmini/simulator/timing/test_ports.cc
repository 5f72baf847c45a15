#include <algorithm>

#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/ports.h"

namespace npu::gemmini::testing {
namespace {

using sim::testing::Test;

using timing::PortCalendar;

constexpr timing::BankMask kA = 1;
constexpr timing::BankMask kB = 2;

// The cycle after the last of `count` free cycles.
timing::Cycle after_free(const PortCalendar& ports, timing::BankMask mask, timing::Cycle from,
                         int64_t count) {
  const PortCalendar::Used used = ports.after_free(mask, from, timing::kNever, count);
  CHECK_EQUAL(used.left, 0);
  return used.end;
}

const Test taken("timing/ports: a taken bank is free before its first and after its last cycle",
                 [] {
                   PortCalendar ports(4);
                   ports.take(kA, 10, 20);
                   CHECK_EQUAL(ports.first_free(kA, 9), 9);
                   CHECK_EQUAL(ports.first_free(kA, 10), 20);
                   CHECK_EQUAL(ports.first_free(kA, 19), 20);
                   CHECK_EQUAL(ports.first_free(kA, 20), 20);
                   CHECK_EQUAL(ports.first_free(kB, 10), 10);
                   CHECK_EQUAL(ports.first_free(kA | kB, 10), 20);
                 });

const Test count("timing/ports: reads go around what is taken", [] {
  PortCalendar ports(4);
  ports.take(kA, 10, 20);
  ports.take(kB, 22, 24);
  CHECK_EQUAL(after_free(ports, kA, 0, 10), 10);  // ends just before
  CHECK_EQUAL(after_free(ports, kA, 0, 11), 21);  // the last one after
  CHECK_EQUAL(after_free(ports, kA, 15, 3), 23);  // begins inside
  CHECK_EQUAL(after_free(ports, kA, 20, 3), 23);  // begins just after
  CHECK_EQUAL(after_free(ports, kA | kB, 15, 3), 25);
  CHECK_EQUAL(after_free(ports, kB, 0, 16), 16);
});

const Test until("timing/ports: nobody looks further ahead than asked for", [] {
  PortCalendar ports(4);
  ports.take(kA, 10, 20);
  const auto left = [&](timing::Cycle until) {
    const PortCalendar::Used used = ports.after_free(kA, 5, until, 12);
    CHECK_EQUAL(used.end, std::min<timing::Cycle>(until, 27));
    return used.left;
  };
  CHECK_EQUAL(left(9), 8);
  CHECK_EQUAL(left(10), 7);
  CHECK_EQUAL(left(15), 7);
  CHECK_EQUAL(left(20), 7);
  CHECK_EQUAL(left(21), 6);
  CHECK_EQUAL(left(27), 0);
  CHECK_EQUAL(left(28), 0);
});

const Test touching("timing/ports: two spans that touch are one", [] {
  PortCalendar ports(2);
  for (int start = 0; start < 100; start += 10) ports.take(kA, start, start + 10);
  CHECK_EQUAL(ports.first_free(kA, 0), 100);
});

const Test order("timing/ports: spans may come out of order", [] {
  PortCalendar ports(4);
  ports.take(kA, 30, 40);
  ports.take(kB, 10, 20);
  ports.take(kA, 20, 25);
  CHECK_EQUAL(ports.first_free(kB, 10), 20);
  CHECK_EQUAL(after_free(ports, kA, 19, 10), 44);
});

const Test expired("timing/ports: what ended is forgotten, what did not is not", [] {
  PortCalendar ports(2);
  ports.take(kA, 0, 10);
  ports.take(kB, 5, 30);
  ports.expire(10);
  CHECK_EQUAL(ports.first_free(kB, 12), 30);
  ports.take(kA, 30, 31);  // room for it again: nothing that matters was dropped
  CHECK_EQUAL(ports.first_free(kB, 12), 30);
  CHECK_EQUAL(ports.first_free(kA, 30), 31);
});

const Test empty("timing/ports: nothing taken for no cycles or no bank", [] {
  PortCalendar ports(2);
  ports.take(kA, 5, 5);
  ports.take(0, 5, 50);
  CHECK_EQUAL(ports.first_free(kA | kB, 5), 5);
});

}  // namespace
}  // namespace npu::gemmini::testing
