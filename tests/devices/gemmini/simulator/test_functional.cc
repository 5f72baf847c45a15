// Values and refusals of single commands. The broad comparison is in Python, against NumPy.
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "device_api/cpp/check.h"
#include "functional_device.h"
#include "gemmini/simulator/scale.h"

namespace npu::gemmini::testing {
namespace {

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
