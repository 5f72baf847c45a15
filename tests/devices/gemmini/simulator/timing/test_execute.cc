#include "device_api/cpp/check.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

constexpr uint32_t kBank = 256;  // rows of a bank of the small device

// A in bank 0, B in bank 2: as the hardware was measured.
Stream pairs(int count, uint32_t a = 0, uint32_t b = 2 * kBank, uint64_t rows = 16) {
  Stream stream;
  for (int i = 0; i < count; ++i) {
    stream.push_back(preload(b, kAcc, rows));
    stream.push_back(compute(a, rows));
  }
  return stream;
}
// The weights stay: nothing to preload but where results go.
Stream staying(int count, uint64_t rows = 16) { return pairs(count, 0, kGarbage, rows); }

double per_pair(const std::function<Stream(int)>& make, const Config& config = timing_device(),
                const Stream& setup = usual_setup()) {
  const uint64_t few = cost(config, make(10), setup).warm;
  const uint64_t many = cost(config, make(50), setup).warm;
  return static_cast<double>(many - few) / 40;
}

const Test single("timing/execute: one pair costs two blocks of rows and the array's depth", [] {
  CHECK_EQUAL(warm(pairs(1)), 2u + 83);
  // Each of two passes is 8 rows shorter, the way through the array 16 stages.
  const Stream small = {{kPreload, tile(2 * kBank, 8, 8), tile(kAcc, 8, 8)},
                        {kComputePreloaded, tile(0, 8, 8), tile(kGarbage, 8, 8)}};
  CHECK_EQUAL(warm(small, device(8)) + 32, 2u + 83);
});

const Test stream("timing/execute: pairs in a row cost a block of rows each", [] {
  CHECK_EQUAL(per_pair([](int n) { return pairs(n); }), 16.0);
  CHECK_EQUAL(per_pair([](int n) { return staying(n); }), 16.0);
});

const Test new_weights("timing/execute: new weights cost a whole block, whatever the rows", [] {
  CHECK_EQUAL(per_pair([](int n) { return pairs(n, 0, 2 * kBank, 9); }), 16.0);
});

const Test rows("timing/execute: weights that stay cost the rows, down to the tag queue's limit",
                [] {
                  CHECK_EQUAL(per_pair([](int n) { return staying(n, 12); }), 12.0);
                  CHECK_EQUAL(per_pair([](int n) { return staying(n, 9); }), 9.0);
                  // Six tags, held for 33 cycles of the array and the rows: five requests in rows +
                  // 33 cycles.
                  CHECK_EQUAL(per_pair([](int n) { return staying(n, 8); }), 41.0 / 5);
                  CHECK_EQUAL(per_pair([](int n) { return staying(n, 5); }), 38.0 / 5);
                  CHECK_EQUAL(per_pair([](int n) { return staying(n, 4); }), 37.0 / 5);
                  CHECK_EQUAL(per_pair([](int n) { return staying(n, 1); }), 37.0 / 5);
                  Config config = timing_device();
                  config.mesh_tag_queue_entries = 16;
                  config.ex_queue_entries = 40;
                  CHECK_EQUAL(per_pair([](int n) { return staying(n, 4); }, config), 4.0);
                  CHECK_EQUAL(per_pair([](int n) { return staying(n, 1); }, config), 4.0);
                });

const Test same_bank("timing/execute: operands in one bank take turns", [] {
  CHECK_EQUAL(per_pair([](int n) { return pairs(n, 0, 16); }), 32.0);
  CHECK_EQUAL(per_pair([](int n) { return pairs(n, 0, kBank); }), 16.0);
  const auto with_d = [](uint32_t d) {
    return [d](int n) {
      Stream stream;
      for (int i = 0; i < n; ++i) {
        stream.push_back(preload(kGarbage, kAcc));
        stream.push_back(compute(0, 16, d));
      }
      return stream;
    };
  };
  CHECK_EQUAL(per_pair(with_d(32)), 32.0);
  CHECK_EQUAL(per_pair(with_d(kBank)), 16.0);
});

const Test late("timing/execute: without the third command in time a COMPUTE runs alone", [] {
  const auto with_host = [](uint32_t host_cycles) {
    const uint64_t few = cost(timing_device(), staying(10), usual_setup(), host_cycles).warm;
    const uint64_t many = cost(timing_device(), staying(50), usual_setup(), host_cycles).warm;
    return static_cast<double>(many - few) / 40;
  };
  CHECK_EQUAL(with_host(8), 16.0);   // the host is as fast as the array
  CHECK_EQUAL(with_host(30), 60.0);  // the host is what counts
  // In between both wait for each other now and then: runs alone cost 16 + 4 cycles.
  CHECK(with_host(9) >= 18.0 && with_host(9) <= 20.0);
});

const Test drain("timing/execute: CONFIG_EX waits for the array to be empty", [] {
  const auto with_config = [](int n) {
    Stream stream;
    for (int i = 0; i < n; ++i) {
      stream.push_back(preload(2 * kBank, kAcc));
      stream.push_back(compute(0));
      stream.push_back(config_ex());
    }
    return stream;
  };
  CHECK_EQUAL(per_pair(with_config), 73.0);
  CHECK_EQUAL(warm({config_ex()}), 1u + 13);
  CHECK_EQUAL(warm(repeat(16, {config_ex()})), 16u + 13);
});

const Test transposed("timing/execute: transposed weights take a pass more, staying ones none", [] {
  const Stream setup = {config_ex(true, false, true)};
  CHECK_EQUAL(per_pair([](int n) { return pairs(n); }, timing_device(), setup), 32.0);
  CHECK_EQUAL(per_pair([](int n) { return staying(n); }, timing_device(), setup), 16.0);
  // Anything transposed keeps the block whole.
  CHECK_EQUAL(per_pair([](int n) { return staying(n, 9); }, timing_device(), setup), 16.0);
  const Stream a_setup = {config_ex(true, true, false)};
  CHECK_EQUAL(per_pair([](int n) { return staying(n, 9); }, timing_device(), a_setup), 16.0);
});

const Test output_stationary(
    "timing/execute: output-stationary results are pushed out by a flush", [] {
      const Stream setup = {config_ex(false)};
      CHECK_EQUAL(per_pair([](int n) { return pairs(n); }, timing_device(), setup), 16.0);
      // Garbage D keeps the block whole, too.
      CHECK_EQUAL(per_pair([](int n) { return staying(n, 9); }, timing_device(), setup), 16.0);
      // The last result leaves with a block of rows that computes nothing.
      CHECK_EQUAL(cost(timing_device(), pairs(1), setup).warm, warm(pairs(1)) + 16);
    });

const Test conflict("timing/execute: rows being loaded keep a bank's other rows from being read",
                    [] {
                      const auto with_loads = [](uint32_t to) {
                        Stream stream;
                        for (int i = 0; i < 16; ++i) {
                          stream.push_back(mvin(kDram, to, 16, 64));
                          const Stream four = staying(4);
                          stream.insert(stream.end(), four.begin(), four.end());
                        }
                        return cost(timing_device(), stream);
                      };
                      const Cost other = with_loads(kBank);
                      const Cost same = with_loads(64);
                      CHECK_EQUAL(other.stats.bank_conflict_cycles, 0);
                      // Each load writes 64 rows, and the array waits for all but those of the
                      // run's ends.
                      CHECK(same.stats.bank_conflict_cycles <= 2 * 16 * 64);
                      CHECK(same.stats.bank_conflict_cycles > 2 * 15 * 64);
                      CHECK(same.warm > other.warm + 15 * 60);
                    });

const Test hazard(
    "timing/execute: an operand that is still coming out of the array is waited for", [] {
      const Stream setup = {config_ex(false)};
      const auto chained = [&](uint32_t a) {
        return cost(timing_device(),
                    {preload(kGarbage, 64), compute(0), preload(kGarbage, 128), compute(a)}, setup)
            .warm;
      };
      CHECK(chained(64) > chained(kBank) + 16);
      CHECK_EQUAL(chained(64 + kBank), chained(kBank));
    });

const Test macs("timing/execute: MACs are those of the logical sizes", [] {
  const Cost run =
      cost(timing_device(), {{kPreload, tile(2 * kBank, 5, 7), tile(kAcc, 9, 7)},
                             {kComputePreloaded, tile(0, 9, 5), tile(kGarbage, 9, 7)}});
  CHECK_EQUAL(run.stats.macs, 2 * 9 * 5 * 7);
});

}  // namespace
}  // namespace npu::gemmini::testing
