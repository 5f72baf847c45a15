// What the array makes of its operands, and what it is refused for.
#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "device_api/cpp/check.h"
#include "functional_device.h"

namespace npu::gemmini::testing {
namespace {

const Test in_place("a D of zeros changes no result", [] {
  std::mt19937 random(4);
  for (const uint64_t rows : {1, 14, 16}) {
    for (const uint64_t cols : {5, 16}) {
      for (const uint32_t to : {kAcc, kAccumulate}) {
        std::vector<std::vector<int32_t>> results;
        for (const uint64_t d : {tile(kGarbage, 16, 16), tile(64, 16, 16)}) {
          Device device;
          State& state = device.functional.state();
          random.seed(static_cast<uint32_t>(rows + cols));
          for (auto& x : state.spad) x = static_cast<int8_t>(random() % 2 ? -128 : random());
          for (auto& x : state.acc) x = static_cast<int32_t>(random());
          std::fill_n(state.spad_row(64), 16 * 16, int8_t{0});
          device.run({config_ex(),
                      {kPreload, tile(16, 16, cols), tile(to, rows, cols)},
                      {kComputePreloaded, tile(0, rows, 16), d},
                      // Rows of the result that A does not have.
                      {kPreload, tile(kGarbage, 16, 16), tile(to + 32, 4, cols)},
                      {kComputeAccumulated, tile(32, 1, 16), d}});
          results.push_back(state.acc);
        }
        CHECK(results[0] == results[1]);
      }
    }
  }
});

const Test unsupported("what the array cannot do is refused", [] {
  CHECK_FAILS(kUnsupportedCommand, Device().run({config_ex(true, true, true)}));
  CHECK_FAILS(kUnsupportedCommand, Device().run({config_ex(false, false, true)}));
  CHECK_FAILS(kUnsupportedCommand, Device().run({config_ex(false, false, false, 32)}));
  CHECK_FAILS(kUnsupportedCommand,
              Device().run({config_ex(), {kPreload, tile(kAcc, 1, 1), kGarbage}}));
  CHECK_FAILS(kUnsupportedCommand, Device().run({{77, 0, 0}}));
  CHECK_FAILS(kUnsupportedCommand, Device().run({{kConfig, kConfigNorm, 0}}));
  Device().run({{kFlush, 0, 0}, {kCounter, 1, 2}});
});

const Test fed("rows of a result that its run does not have are refused", [] {
  const Command weights = {kPreload, tile(0, 16, 16), tile(kAcc, 16, 16)};
  const Command garbage = {0, 0, tile(kGarbage, 16, 16)};
  const auto compute = [&](uint64_t a_rows, uint64_t d) {
    return Command{kComputePreloaded, tile(0, a_rows, 16), d};
  };
  CHECK_FAILS(kUnsupportedCommand, Device().run({config_ex(), weights, compute(5, garbage.rs2)}));
  CHECK_FAILS(kUnsupportedCommand,
              Device().run({config_ex(), weights, compute(5, tile(32, 15, 16))}));
  Device().run({config_ex(), weights, compute(5, tile(32, 16, 16))});
  // Transposed or output-stationary, a run has all rows; four it always has.
  Device().run({config_ex(true, true), weights, compute(5, garbage.rs2)});
  Device().run({config_ex(true, false, true), weights, compute(5, garbage.rs2)});
  Device().run({config_ex(false), weights, compute(5, tile(16, 16, 16))});
  Device().run(
      {config_ex(), {kPreload, tile(0, 16, 16), tile(kAcc, 4, 16)}, compute(1, garbage.rs2)});
});

const Test zero_weights("garbage does not become weights, a B of no rows is zeros", [] {
  const uint64_t garbage = tile(kGarbage, 16, 16);
  const auto pair = [&](uint64_t b) {
    return std::vector<Command>{{kPreload, b, tile(kAcc, 16, 16)},
                                {kComputePreloaded, tile(0, 16, 16), tile(32, 16, 16)}};
  };
  Device device;
  device.run({config_ex()});
  CHECK_FAILS(kGarbageOperand, device.run(pair(garbage)));
  for (const auto& [config, b] :
       {std::pair{config_ex(), uint64_t{0}}, std::pair{config_ex(true, true), garbage}}) {
    Device zeros;
    std::fill_n(zeros.functional.state().spad_row(0), 48 * 16, int8_t{3});
    zeros.run({config});
    zeros.run(pair(b));
    CHECK_EQUAL(zeros.functional.state().acc_row(15)[15], 3);
  }
  Device output_stationary;  // where it is D
  output_stationary.run({config_ex(false)});
  output_stationary.run(pair(garbage));
});

const Test sums_given("an output-stationary result takes the sums out of the array", [] {
  const uint64_t garbage = tile(kGarbage, 16, 16);
  const auto pair = [&](uint8_t funct, uint64_t c) {
    return std::vector<Command>{{kPreload, garbage, c}, {funct, tile(0, 16, 16), tile(16, 16, 16)}};
  };
  Device device;
  device.run({config_ex(false)});
  device.run(pair(kComputePreloaded, garbage));
  device.run(pair(kComputeAccumulated, garbage));
  device.run(pair(kComputeAccumulated, tile(kAcc, 16, 16)));
  device.run(pair(kComputePreloaded, garbage));
  device.run(pair(kComputeAccumulated, tile(kAcc, 16, 16)));
  CHECK_FAILS(kUndefinedConfiguration, device.run(pair(kComputeAccumulated, garbage)));
});

const Test strides("a stride that the array does not keep is refused", [] {
  const auto strided = [](bool is_ws, uint64_t c_stride) {
    Command config = config_ex(is_ws);
    config.rs2 = c_stride << 48;
    return config;
  };
  const auto result = [](uint32_t to, uint64_t rows) {
    return Command{kPreload, tile(0, 16, 16), tile(to, rows, 16)};
  };
  for (const uint64_t stride : {0, 2}) {
    CHECK_FAILS(kUnsupportedCommand, Device().run({strided(false, stride), result(kAcc, 1)}));
    Device().run({strided(false, stride), {kPreload, tile(0, 16, 16), tile(kGarbage, 16, 16)}});
  }
  CHECK_FAILS(kUnsupportedCommand, Device().run({strided(true, 0), result(kAccumulate, 2)}));
  Device().run({strided(true, 0), result(kAccumulate, 1)});
  Device().run({strided(true, 0), result(kAcc, 16)});
});

}  // namespace
}  // namespace npu::gemmini::testing
