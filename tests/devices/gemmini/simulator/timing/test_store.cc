#include <cmath>

#include "device_api/cpp/check.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

constexpr uint32_t kBank = 128;  // rows of an accumulator bank of the small device

Stream mvouts(int count, uint32_t from, uint64_t cols = 16) {
  Stream stream;
  for (int i = 0; i < count; ++i) stream.push_back(mvout(kDram, from, 16, cols));
  return stream;
}
double per_row(uint32_t from, uint64_t cols = 16, const Config& config = timing_device()) {
  return static_cast<double>(warm(mvouts(24, from, cols), config) -
                             warm(mvouts(8, from, cols), config)) /
         (16 * 16);
}

const Test single("timing/store: one MVOUT costs its rows and a fixed way", [] {
  CHECK_EQUAL(warm({mvout(kDram, kAcc, 1, 16)}), 1u + 36);
  CHECK_EQUAL(warm(mvouts(1, kAcc)), 1u + 60);
  CHECK_EQUAL(warm({mvout(kDram, 0, 1, 16)}), 1u + 31);
});

const Test scaler("timing/store: the write queue bounds what the scaler's latency can hold", [] {
  CHECK(std::abs(per_row(kAcc) - 8.0 / 5) < 0.01);
  Config config = timing_device();
  config.store_write_queue_entries = 8;
  CHECK(std::abs(per_row(kAcc, 16, config) - 1.05) < 0.002);  // the bus and the L2's gaps
  config.acc_scale_latency_cycles = 16;
  CHECK_EQUAL(per_row(kAcc, 16, config), 2.0);
});

const Test writer("timing/store: wide rows cost their blocks and their beats, less one", [] {
  CHECK(std::abs(per_row(0) - 1.05) < 0.002);
  CHECK_EQUAL(per_row(0, 64), 7.0);
  CHECK_EQUAL(per_row(kAcc, 64), 7.0);
  CHECK_EQUAL(per_row(kAcc, 48), 6.0);  // three blocks, a packet of four beats
  // Two blocks, two beats: 3, but the scaler gives 3.2 and they do not fit into each other.
  CHECK(per_row(kAcc, 32) > 3.2 && per_row(kAcc, 32) < 3.5);
});

const Test full_width("timing/store: int32 rows cost four beats each",
                      [] { CHECK(std::abs(per_row(kFullWidth) - 4.05) < 0.002); });

const Test cold("timing/store: whole lines need not be fetched, parts of them do", [] {
  const Cost whole = cost(timing_device(), mvouts(1, kAcc, 64));
  const Cost part = cost(timing_device(), mvouts(1, kAcc, 16));
  CHECK(whole.cold > whole.warm && whole.cold < whole.warm + 12);  // the permission
  CHECK(part.cold > part.warm + 16 * 6);
  CHECK_EQUAL(part.stats.bytes_stored, 2 * 256);
});

Stream pooling(uint64_t stride, uint64_t window, uint64_t padding, uint64_t out, uint64_t in) {
  const uint64_t rs1 = in << 56 | in << 48 | out << 40 | out << 32 | out << 24 | padding << 10 |
                       padding << 8 | window << 6 | stride << 4 | kConfigSt;
  return {{kConfig, rs1, float_bits(1.0f) << 32 | 64}};
}

const Test pooled("timing/store: pooling reads every element of every window", [] {
  const auto cycles = [](uint64_t window, uint64_t out) {
    return cost(timing_device(), {mvout(kDram, kAcc, 0, 16)}, pooling(1, window, 0, out, 9)).warm;
  };
  // Nine reads for each pixel against four, at 1.6 cycles a read.
  const double nine = static_cast<double>(cycles(3, 6) - cycles(3, 1)) / 35;
  const double four = static_cast<double>(cycles(2, 6) - cycles(2, 1)) / 35;
  CHECK(nine > 9 * 1.55 && nine < 9 * 1.65);
  CHECK(four > 4 * 1.55 && four < 4 * 1.65);
  const Cost one = cost(timing_device(), {mvout(kDram, kAcc, 0, 16)}, pooling(2, 2, 0, 4, 8));
  CHECK_EQUAL(one.stats.bytes_stored, 2 * 16 * 16);
});

const Test accumulating("timing/store: results being added keep their bank from being read", [] {
  // Results of the pairs go to bank 0 as the store reads.
  const auto with_results = [](uint32_t c, uint32_t from) {
    Stream stream = {preload(512, c), compute(0), mvout(kDram, from, 16, 16)};
    for (int i = 0; i < 4; ++i) {
      stream.push_back(preload(512, c));
      stream.push_back(compute(0));
    }
    const Stream more = mvouts(2, from);
    stream.insert(stream.end(), more.begin(), more.end());
    return warm(stream);
  };
  const uint64_t apart = with_results(kAccumulate, kAcc + kBank);
  CHECK(with_results(kAccumulate, kAcc + 64) > apart);
  // A plain result does not read what it replaces.
  CHECK_EQUAL(with_results(kAcc, kAcc + 64), apart);
});

const Test contended("timing/store: the array's reads and loads come before a store's", [] {
  const auto with_reads = [](uint32_t from) {
    Stream stream = {mvout(kDram, from, 16, 16)};
    for (int i = 0; i < 8; ++i) {
      stream.push_back(preload(kGarbage, kAcc));
      stream.push_back(compute(0));
    }
    stream.push_back(mvout(kDram, from, 16, 16));
    stream.push_back(mvin(kDram + 4096, from, 16, 16));  // waits for the store
    return warm(stream);
  };
  CHECK(with_reads(64) > with_reads(256 + 64));
});

}  // namespace
}  // namespace npu::gemmini::testing
