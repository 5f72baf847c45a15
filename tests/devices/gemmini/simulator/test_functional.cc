// Values and refusals of single commands. The broad comparison is in Python, against NumPy.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "device.h"
#include "device_api/cpp/check.h"
#include "gemmini/simulator/functional.h"
#include "gemmini/simulator/scale.h"

namespace npu::gemmini::testing {
namespace {

struct Device {
  explicit Device(Config::Pairs fields = device_fields())
      : config(Config::from_pairs(fields)), dram(1 << 16), functional(config, dram.map) {}

  void run(const std::vector<Command>& commands) {
    for (const Command& command : commands) functional.run(command, index++);
  }

  Config config;
  Dram dram;
  Functional functional;
  int64_t index = 0;
};

Config::Pairs without(const std::string& feature) {
  Config::Pairs fields = device_fields();
  for (auto& [name, value] : fields) {
    if (name == feature) value = 0;
  }
  return fields;
}

const Test round_trip("a tile goes in and out unchanged", [] {
  Device device;
  device.run({config_ld(64),
              {kMvin, kDram, tile(0, 16, 64)},
              config_st(64),
              {kMvout, kDram + 4096, tile(0, 16, 64)}});
  CHECK(std::equal(device.dram.data.begin(), device.dram.data.begin() + 1024,
                   device.dram.data.begin() + 4096));
});

const Test accumulating("loads add up in the accumulator, address 0 adds nothing", [] {
  Device device;
  device.run({config_ld(16, 1.0f, true),
              {kMvin, kDram, tile(kAcc, 2, 4)},
              {kMvin, kDram, tile(kAccumulate, 2, 4)},
              config_ld(16),
              {kMvin, 0, tile(kAccumulate, 2, 4)}});
  CHECK_EQUAL(device.functional.state().acc_row(1)[3], 2 * 19);
});

const Test endless("zeros into the accumulator are refused where an element is 1 byte", [] {
  for (const uint32_t to : {kAcc, kAccumulate}) {
    const Command zeros = {kMvin, 0, tile(to, 2, 4)};
    CHECK_FAILS(kUnsupportedCommand, Device().run({config_ld(16, 1.0f, true), zeros}));
    Device().run({config_ld(16), zeros});
  }
  Device().run({config_ld(16, 1.0f, true), {kMvin, 0, tile(0, 2, 4)}});
});

const Test one_row("the stride of a load of one row does not matter", [] {
  for (const uint64_t stride : {~uint64_t{0} - 63, uint64_t{1} << 63, ~uint64_t{0}}) {
    Device device;
    device.run({config_ld(stride), {kMvin, kDram + 64, tile(3, 1, 64)}});
    CHECK_EQUAL(device.functional.state().spad_row(3)[1], 65);
    CHECK_EQUAL(device.functional.state().spad_row(3 + 3 * 16)[15], 127);
  }
});

const Test unscaled_zeros("zeros are not scaled, by whatever it may be", [] {
  for (const float scale :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Device device;
    device.run({config_ld(16, scale), {kMvin, 0, tile(0, 1, 16)}});
    CHECK_EQUAL(device.functional.state().spad_row(0)[0], 0);
  }
});

const Test two_regions("rows of one load may lie in several regions", [] {
  const Config config = device();
  std::vector<uint8_t> first(64, 1), second(64, 2);
  sim::MemoryMap dram;
  dram.add({kDram, first.size(), first.data(), false, "first"});
  dram.add({kDram + 1000, second.size(), second.data(), false, "second"});
  Functional functional(config, dram);
  functional.run(config_ld(1000), 0);
  functional.run({kMvin, kDram, tile(0, 2, 64)}, 1);
  CHECK_EQUAL(functional.state().spad_row(48)[15], 1);
  CHECK_EQUAL(functional.state().spad_row(49)[0], 2);
  CHECK_FAILS(kAddressOutOfRange, functional.run({kMvin, kDram, tile(0, 3, 64)}, 2));
  // So far apart that the way from the first to the last wraps around.
  functional.run(config_ld(uint64_t{1} << 63), 3);
  CHECK_FAILS(kAddressOutOfRange, functional.run({kMvin, kDram, tile(0, 3, 64)}, 4));
});

const Test scaled_store("a store scales and saturates every element alike", [] {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  std::mt19937 random(3);
  for (const float scale : {1.0f, 0.5f, 0.003f, -0.02f, 0.0f, 1e30f, -kInfinity, std::nanf("")}) {
    for (const bool has_relu : {false, true}) {
      for (const uint64_t cols : {1, 7, 16}) {
        Device device;
        int32_t* row = device.functional.state().acc_row(0);
        for (int i = 0; i < 16; ++i) row[i] = static_cast<int32_t>(random()) >> random() % 32;
        row[0] = random() % 2 ? 0 : kLeast;
        device.run({config_st(16, scale, has_relu), {kMvout, kDram, tile(kAcc, 1, cols)}});
        for (uint64_t i = 0; i < cols; ++i) {
          const int32_t sum = has_relu ? std::max(row[i], 0) : row[i];
          const int8_t wanted = scale_to_int8(sum, scale);
          CHECK_EQUAL(static_cast<int8_t>(device.dram.data[i]), wanted);
        }
      }
    }
  }
});

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

const Test message("an error names the command, the need and what there is", [] {
  Device device;
  const std::string text = CHECK_FAILS(
      kAddressOutOfRange, device.run({config_ld(16), {kMvin, 0x1000, tile(0x20, 16, 64)}}));
  CHECK_EQUAL(text,
              std::string("[address_out_of_range] command 1 mvin(0x1000 -> spad 0x20, 16 rows x "
                          "64 cols): needs 64 B of DRAM at 0x1000, has 'memory' at 0x80010000 to "
                          "0x80020000 (row 0)"));
});

const Test undefined("nothing works before it is configured", [] {
  for (const uint8_t funct : {kMvin, kMvin2, kMvin3, kMvout, kPreload, kComputePreloaded}) {
    Device device;
    CHECK_FAILS(kUndefinedConfiguration, device.run({{funct, kDram, tile(0, 1, 1)}}));
  }
  CHECK_FAILS(kUndefinedConfiguration,
              Device().run({config_ex(), {kComputePreloaded, tile(0, 1, 1), kGarbage}}));
  // Strides alone do not say which dataflow.
  CHECK_FAILS(kUndefinedConfiguration,
              Device().run({{kConfig, 1 << 7, 0}, {kPreload, tile(0, 1, 1), kGarbage}}));
  // A scale of all ones keeps the one before, of which there is none.
  CHECK_FAILS(kUndefinedConfiguration, Device().run({{kConfig, kConfigSt, 0xFFFFFFFF00000010},
                                                     {kMvout, kDram, tile(kAcc, 1, 1)}}));
});

const Test garbage("garbage is refused where a value is needed", [] {
  CHECK_FAILS(kGarbageOperand, Device().run({config_ld(16), {kMvin, kDram, tile(kGarbage, 1, 1)}}));
  CHECK_FAILS(kGarbageOperand,
              Device().run({config_st(16), {kMvout, kDram, tile(kGarbage, 1, 1)}}));
  CHECK_FAILS(kGarbageOperand, Device().run({config_ex(),
                                             {kPreload, tile(0, 1, 1), tile(kAcc, 1, 1)},
                                             {kComputePreloaded, tile(kGarbage, 1, 1), kGarbage}}));
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

const Test features("what the device was built without is refused", [] {
  const auto refuses = [](const char* feature, const std::vector<Command>& commands) {
    CHECK_FAILS(kUnsupportedCommand, Device(without(feature)).run(commands));
    Device().run(commands);
  };
  refuses("has_transpose", {config_ex(true, true)});
  refuses("has_output_stationary", {config_ex(false)});
  refuses("has_weight_stationary", {config_ex(true)});
  refuses("has_first_layer_pixel_repeats", {config_ld(16, 1.0f, false, 0, 16, 2)});
  refuses("has_pooling", {{kConfig, uint64_t{0x01010101} << 32 | 1 << 6 | 1 << 4 | kConfigSt, 16}});
  refuses("has_acc_full_width_store", {config_ld(16),
                                       {kMvin, kDram, tile(kAcc, 1, 1)},
                                       config_st(16),
                                       {kMvout, kDram, tile(kFullWidth, 1, 1)}});
});

const Test read_only("a store into an input is refused", [] {
  const Config config = device();
  std::vector<uint8_t> bytes(256);
  sim::MemoryMap map;
  map.add({kDram, bytes.size(), bytes.data(), false, "input"});
  Functional functional(config, map);
  functional.run(config_st(16), 0);
  const std::string text =
      CHECK_FAILS(kAddressOutOfRange, functional.run({kMvout, kDram, tile(0, 1, 16)}, 1));
  CHECK(text.find("'input'") != std::string::npos && text.find("read-only") != std::string::npos);
});

const Test local_range("rows past the end of a memory are refused", [] {
  Device device;
  const auto last = static_cast<uint32_t>(device.config.spad_rows() - 1);
  device.run({config_ld(16), {kMvin, kDram, tile(last, 1, 16)}});
  CHECK_FAILS(kAddressOutOfRange, device.run({{kMvin, kDram, tile(last, 2, 16)}}));
  CHECK_FAILS(kAddressOutOfRange, device.run({{kMvin, kDram, tile(last, 1, 17)}}));
  CHECK_FAILS(kAddressOutOfRange, device.run({{kMvin, kDram, tile(0x40000000, 1, 1)}}));
});

}  // namespace
}  // namespace npu::gemmini::testing
