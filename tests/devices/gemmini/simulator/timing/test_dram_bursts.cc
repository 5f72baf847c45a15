#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/dram_bursts.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

using timing::DramBursts;

// A clock of the DRAM is a cycle here.
Config bursts_device() {
  Config config = device();
  config.dram_clock_khz = config.clock_khz;
  return config;
}
constexpr int64_t kBurst = 4;
constexpr int64_t kWriteToRead = 9 + 4 + 5;       // latency, burst, tWTR
constexpr int64_t kReadToWrite = 10 + 4 + 1 - 9;  // latency, burst, tRTRS, the write's latency

int64_t read(DramBursts& bursts, int64_t ready) {
  return timing::to_cycle(bursts.take(timing::to_ticks(ready), false));
}
int64_t write(DramBursts& bursts, int64_t ready) {
  return timing::to_cycle(bursts.take(timing::to_ticks(ready), true));
}

const Test same("timing/dram_bursts: bursts of a kind follow each other", [] {
  DramBursts bursts(bursts_device());
  for (int64_t i = 0; i < 20; ++i) CHECK_EQUAL(read(bursts, 1000), 1000 + kBurst * i);
  for (int64_t i = 0; i < 20; ++i) CHECK_EQUAL(write(bursts, 2000), 2000 + kBurst * i);
  // One that is ready later is not held up.
  CHECK_EQUAL(write(bursts, 3000), 3000);
  CHECK_EQUAL(write(bursts, 3000 + kBurst), 3000 + kBurst);
});

const Test turnaround("timing/dram_bursts: the data bus needs time to turn round", [] {
  DramBursts bursts(bursts_device());
  CHECK_EQUAL(read(bursts, 1000), 1000);
  CHECK_EQUAL(write(bursts, 1000), 1000 + kReadToWrite);
  CHECK_EQUAL(read(bursts, 1000 + kReadToWrite), 1000 + kReadToWrite + kWriteToRead);
  DramBursts other(bursts_device());
  write(other, 1000);
  CHECK_EQUAL(read(other, 1000 + kWriteToRead), 1000 + kWriteToRead);
  // A read after another is not far enough from a write before both.
  write(other, 2000);
  write(other, 2004);
  CHECK_EQUAL(read(other, 2010), 2004 + kWriteToRead);
  CHECK_EQUAL(read(other, 2010), 2004 + kWriteToRead + kBurst);
});

const Test ready("timing/dram_bursts: what is ready goes before what is not yet", [] {
  DramBursts bursts(bursts_device());
  CHECK_EQUAL(read(bursts, 900), 900);
  CHECK_EQUAL(write(bursts, 1010), 1010);
  CHECK_EQUAL(read(bursts, 1000), 1000);
  CHECK_EQUAL(read(bursts, 1007), 1007);
  // The write comes the later for them, and what follows it.
  CHECK_EQUAL(read(bursts, 1014), 1007 + kReadToWrite + kWriteToRead);
});

// What bursts should do, none forgotten and each looked at.
class Bursts {
 public:
  int64_t take(int64_t ready, bool is_write) {
    size_t i = 0;
    while (i != bursts_.size() && bursts_[i].command <= ready) ++i;
    int64_t at = std::max(ready, behind(i, is_write));
    while (i != bursts_.size() && bursts_[i].command <= at)
      at = std::max(at, behind(++i, is_write));
    bursts_.insert(bursts_.begin() + static_cast<std::ptrdiff_t>(i), {at, is_write});
    for (++i; i != bursts_.size(); ++i) {
      bursts_[i].command = std::max(bursts_[i].command, behind(i, bursts_[i].is_write));
    }
    return at;
  }
  int64_t last() const { return bursts_.empty() ? 0 : bursts_.back().command; }

 private:
  struct Burst {
    int64_t command;
    bool is_write;
  };
  // The earliest behind the first `count`.
  int64_t behind(size_t count, bool is_write) const {
    int64_t earliest = 0;
    for (size_t i = 0; i != count; ++i) {
      const int64_t turn = is_write ? kReadToWrite : kWriteToRead;
      const int64_t apart = bursts_[i].is_write == is_write ? kBurst : turn;
      earliest = std::max(earliest, bursts_[i].command + apart);
    }
    return earliest;
  }

  std::vector<Burst> bursts_;  // in order
};

const Test disorder(
    "timing/dram_bursts: bursts in any order go where there is room, or behind", [] {
      for (const unsigned writes : {0u, 5u, 30u}) {   // of 100
        for (const unsigned most : {6u, 30u, 60u}) {  // full, with little room, with much
          std::mt19937 random(most);
          DramBursts bursts(bursts_device());
          Bursts expected;
          for (int64_t i = 0; i < 1000; ++i) {
            // No earlier than what is remembered, up to some bursts behind the last.
            const int64_t ready = std::max<int64_t>(1000, expected.last() - 10 * kBurst) +
                                  static_cast<int64_t>(random() % most);
            const bool is_write = random() % 100 < writes;
            const int64_t at = is_write ? write(bursts, ready) : read(bursts, ready);
            CHECK_EQUAL(at, expected.take(ready, is_write));
          }
        }
      }
    });

const Test settings("timing/dram_bursts: a bus that turns round at once has bursts to wait for",
                    [] {
                      Config config = bursts_device();
                      config.dram_read_latency_clocks = 1;
                      config.dram_write_latency_clocks = 200;
                      DramBursts bursts(config);
                      read(bursts, 1000);
                      CHECK_EQUAL(write(bursts, 1000), 1001);
                    });

}  // namespace
}  // namespace npu::gemmini::testing
