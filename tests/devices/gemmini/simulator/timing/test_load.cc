#include "device_api/cpp/check.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

Stream mvins(int count, uint64_t rows, uint64_t cols) {
  Stream stream;
  for (int i = 0; i < count; ++i) {
    stream.push_back(mvin(kDram, static_cast<uint32_t>(64 * (i % 4)), rows, cols));
  }
  return stream;
}

const Test single("timing/load: one MVIN costs its beats and a fixed way", [] {
  // Measured on the generated hardware: 31 cycles after issue plus a beat each.
  CHECK_EQUAL(warm(mvins(1, 1, 16)), 1u + 31);
  CHECK_EQUAL(warm(mvins(1, 16, 16)), 1u + 46);
  CHECK_EQUAL(warm(mvins(1, 16, 64)), 1u + 94);
  CHECK_EQUAL(warm(mvins(1, 16, 17)), warm(mvins(1, 16, 32)));
});

const Test overlapped("timing/load: at most loads_in_flight are under way", [] {
  Config config = timing_device();
  const auto per_load = [&](int64_t in_flight) {
    config.loads_in_flight = in_flight;
    return (warm(mvins(24, 16, 16), config) - warm(mvins(8, 16, 16), config)) / 16.0;
  };
  // One at a time: the whole latency for each. Two: half of it. Four: the beats are what counts.
  CHECK_EQUAL(per_load(1), 35.0);
  CHECK(per_load(2) > 17.0 && per_load(2) < 18.5);
  CHECK(per_load(4) > 16.0 && per_load(4) < 17.1);
});

const Test zeros("timing/load: zeros cost a cycle per block and touch no memory", [] {
  const Cost cheap = cost(timing_device(), {mvin(0, 0, 16, 16)});
  CHECK_EQUAL(cheap.cold, cheap.warm);
  CHECK_EQUAL(cheap.warm, 1u + 30);
  CHECK_EQUAL(cheap.stats.bytes_loaded, 0);
  CHECK_EQUAL(cheap.stats.l2_misses, 0);
  CHECK_EQUAL(warm({mvin(0, 0, 16, 64)}), cheap.warm + 48);
  CHECK_EQUAL(warm({mvin(0, 0, 16, 49)}), cheap.warm + 48);
});

const Test repeated("timing/load: a stride of 0 reads one row and writes all", [] {
  const Stream stream = {mvin(kDram, 0, 16, 16)};
  const Cost once = cost(timing_device(), stream, {config_ld(0)});
  const Cost all = cost(timing_device(), stream, {config_ld(64)});
  CHECK_EQUAL(once.warm, all.warm);
  CHECK_EQUAL(once.stats.bytes_loaded, 2 * 16);
  CHECK_EQUAL(all.stats.bytes_loaded, 2 * 256);
  CHECK_EQUAL(once.stats.l2_misses, 1);
  CHECK_EQUAL(all.stats.l2_misses, 16);
});

const Test cold("timing/load: cold lines come at the memory's bandwidth", [] {
  const Cost load = cost(timing_device(), mvins(1, 16, 64));
  CHECK_EQUAL(load.cold, load.warm + 69);  // 16 lines of 8 cycles instead of 64 beats, and latency
});

const Test accumulator("timing/load: int32 takes four times the beats of int8", [] {
  CHECK_EQUAL(warm({mvin(kDram, kAcc, 16, 16)}), warm({mvin(kDram, 0, 16, 64)}));
  const Stream shrunk = {config_ld(64, 1.0f, true)};
  CHECK_EQUAL(cost(timing_device(), {mvin(kDram, kAcc, 16, 16)}, shrunk).warm,
              warm({mvin(kDram, 0, 16, 16)}));
});

const Test scaled("timing/load: a scale slows int8, not int32", [] {
  const auto with_scale = [](float scale, uint32_t to) {
    return cost(timing_device(), {mvin(kDram, to, 16, 16)}, {config_ld(64, scale)}).warm;
  };
  CHECK_EQUAL(with_scale(0.5f, 0), with_scale(1.0f, 0) + 15 * 3 + 6);
  CHECK_EQUAL(with_scale(0.5f, kAcc), with_scale(1.0f, kAcc));
});

const Test pixels("timing/load: pixel repeats write every row that often", [] {
  const auto with_repeats = [](uint64_t repeats) {
    return cost(timing_device(), {mvin(kDram, 64, 16, 4)},
                {config_ld(64, 1.0f, false, 0, 16, repeats)})
        .warm;
  };
  CHECK_EQUAL(with_repeats(1), with_repeats(0));
  CHECK_EQUAL(with_repeats(3), with_repeats(1) + 2 * 16);
});

}  // namespace
}  // namespace npu::gemmini::testing
