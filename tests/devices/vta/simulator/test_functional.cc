// Values and refusals of single commands. The broad comparison is in Python, against NumPy.
#include <algorithm>
#include <cstring>
#include <limits>

#include "device.h"

namespace npu::vta::testing {
namespace {

// A device whose DRAM begins with these micro-ops, which it has loaded.
struct Loaded : Device {
  explicit Loaded(const std::vector<uint32_t>& uops, const Config& config = device_with({}))
      : Device(config) {
    std::memcpy(bytes.data(), uops.data(), uops.size() * 4);
    run({load_uops(0, 0, static_cast<int64_t>(uops.size()))});
  }
  int32_t acc(int64_t row, int64_t i) { return simulator.buffers().acc.row(row)[i]; }
};

uint32_t uop(uint32_t dst, uint32_t src = 0, uint32_t wgt = 0) {
  return dst | src << 11 | wgt << 22;
}

const Test padded("a load puts zeros around its lines", [] {
  Device device;
  Command load = transfer(kLoad, kInp, 3, 5, 16, 2);
  load.y_size = 2;
  load.x_stride = 9;
  load.y_pad_before = 1;
  load.y_pad_after = 2;
  load.x_pad_before = 3;
  load.x_pad_after = 1;
  device.run({tokens(load, "push>"), finish("pop<")});
  const auto& inp = device.simulator.buffers().inp;
  for (int64_t y = 0; y < 5; ++y) {
    for (int64_t x = 0; x < 6; ++x) {
      const bool is_data = y >= 1 && y < 3 && x >= 3 && x < 5;
      const int64_t from = (5 + (y - 1) * 9 + x - 3) * 16;
      for (int64_t i = 0; i < 16; ++i) {
        const int wanted = is_data ? static_cast<int8_t>(device.bytes[from + i]) : 0;
        CHECK_EQUAL(int{inp.row(3 + y * 6 + x)[i]}, wanted);
      }
    }
  }
  CHECK_EQUAL(int{inp.is_defined[2]}, 0);
  CHECK_EQUAL(int{inp.is_defined[32]}, 1);
  CHECK_EQUAL(int{inp.is_defined[33]}, 0);
});

const Test product("a step adds inputs times weights, the weights' rows being outputs", [] {
  Loaded device({uop(2, 1, 3)});
  device.run({tokens(transfer(kLoad, kInp, 1, 8, 16, 1), "push>"),
              tokens(transfer(kLoad, kWgt, 3, 1, 256, 1), "push>"),
              tokens(transfer(kLoad, kAcc, 2, 16, 64, 1), "pop<"),
              tokens(steps(kGemm, 0, 1), "pop< push>"),
              tokens(transfer(kStore, kOut, 2, 300, 16, 1), "pop< push<"), finish("pop>")});
  for (int j = 0; j < 16; ++j) {
    int32_t wanted;
    std::memcpy(&wanted, &device.bytes[16 * 64 + 4 * j], 4);
    for (int k = 0; k < 16; ++k) {
      wanted += static_cast<int8_t>(device.bytes[8 * 16 + k]) *
                static_cast<int8_t>(device.bytes[256 + j * 16 + k]);
    }
    CHECK_EQUAL(device.acc(2, j), wanted);
    CHECK_EQUAL(int{device.bytes[300 * 16 + j]}, wanted & 0xFF);
  }
});

const Test loops("two loops add their factors to the rows", [] {
  Loaded device({uop(1), uop(40)});
  Command reset = steps(kGemm, 0, 2, 3, 2);
  reset.reset = 1;
  reset.dst_factor_out = 7;
  reset.dst_factor_in = 2;
  device.run({reset, finish()});
  std::vector<int64_t> wanted;
  for (const int64_t outer : {0, 7, 14}) {
    for (const int64_t inner : {0, 2}) {
      for (const int64_t row : {1, 40}) wanted.push_back(outer + inner + row);
    }
  }
  for (int64_t row = 0; row < 2048; ++row) {
    const bool is_wanted = std::count(wanted.begin(), wanted.end(), row) != 0;
    CHECK_EQUAL(device.simulator.buffers().acc.is_defined[row] != 0, is_wanted);
  }
});

const Test arithmetic("every ALU operation, on its limits", [] {
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  const Config config = device_with({{"has_alu_multiply", 1}});
  struct Case {
    AluOp op;
    int32_t a;
    int16_t b;
    int32_t wanted;
  };
  for (const Case& c : std::vector<Case>{{kMin, 5, -7, -7},
                                         {kMax, kLeast, -32768, -32768},
                                         {kAdd, kMost, 1, kLeast},
                                         {kAdd, kLeast, -1, kMost},
                                         {kShr, -5, 1, -3},
                                         {kShr, kLeast, 31, -1},
                                         {kShr, kMost, 0, kMost},
                                         {kShr, 3, -31, kLeast},
                                         {kShr, -1, -4, -16},
                                         {kMul, 1 << 30, 6, kLeast},
                                         {kMul, -3, -32768, 98304}}) {
    Loaded device({uop(0)}, config);
    std::memcpy(&device.bytes[1024], &c.a, 4);
    device.run({transfer(kLoad, kAcc, 0, 16, 64, 1), alu_immediate(c.op, c.b, 0, 1), finish()});
    CHECK_EQUAL(device.acc(0, 0), c.wanted);
  }
});

const Test registers("an ALU step reads its own rows; shifts in registers are 0 to 31", [] {
  Loaded device({uop(0, 1), uop(1, 2)});
  const int32_t values[3] = {1000, 3, 32};
  for (int i = 0; i < 3; ++i) {
    for (int lane = 0; lane < 16; ++lane) {
      std::memcpy(&device.bytes[1024 + i * 64 + lane * 4], &values[i], 4);
    }
  }
  device.run({transfer(kLoad, kAcc, 0, 16, 64, 3)});
  Command shift = steps(kAlu, 0, 1);
  shift.alu_op = kShr;
  device.run({shift, finish()});
  CHECK_EQUAL(device.acc(0, 5), 125);
  shift.uop_begin = 1;
  shift.uop_end = 2;
  device.run({shift});
  CHECK_FAILS(kUnsupportedCommand, device.run({finish()}));
});

const Test alu_weights("a micro-op with weights is not one of the ALU's", [] {
  Loaded device({uop(0, 0, 1)});
  device.run({transfer(kLoad, kAcc, 0, 16, 64, 1), alu_immediate(kAdd, 1, 0, 1)});
  CHECK_FAILS(kUnsupportedCommand, device.run({finish()}));
});

const Test narrow_load("bytes are widened with their sign where the device can", [] {
  const Command load = transfer(kLoad, kAccInt8, 1, 0, 16, 2);
  Device device(device_with({{"has_acc_int8_load", 1}}));
  device.run({load, finish()});
  for (int i = 0; i < 32; ++i) {
    CHECK_EQUAL(device.simulator.buffers().acc.row(1)[i], static_cast<int8_t>(device.bytes[i]));
  }
  CHECK_FAILS(kUnsupportedCommand, Device().run({load}));
});

const Test stale("only what was computed is stored", [] {
  const Command store = tokens(transfer(kStore, kOut, 0, 300, 16, 1), "pop< push<");
  const Command bias = transfer(kLoad, kAcc, 0, 16, 64, 1);
  const Command compute = alu_immediate(kAdd, 0, 0, 1);
  Command reset = steps(kGemm, 0, 1);
  reset.reset = 1;
  Loaded({uop(0)}).run({bias, tokens(compute, "push>"), store, finish("pop>")});
  for (const Command& last : {bias, reset}) {
    Loaded device({uop(0)});
    device.run({bias, compute, tokens(last, "push>"), store});
    CHECK_FAILS(kUndefinedConfiguration, device.run({finish("pop>")}));
  }
});

const Test undefined("what nothing has written is not read", [] {
  const Command inp = tokens(transfer(kLoad, kInp, 1, 8, 16, 1), "push>");
  const Command wgt = tokens(transfer(kLoad, kWgt, 3, 1, 256, 1), "push>");
  const Command acc = tokens(transfer(kLoad, kAcc, 2, 16, 64, 1), "pop<");
  const Command gemm = tokens(steps(kGemm, 0, 1), "pop<");
  const std::vector<Command> all = {inp, wgt, acc, gemm};
  Loaded complete({uop(2, 1, 3)});
  complete.run(all);
  complete.run({finish()});
  for (size_t left_out = 0; left_out < 3; ++left_out) {
    std::vector<Command> commands = all;
    commands[left_out].x_size = 0;  // the tokens stay
    Loaded device({uop(2, 1, 3)});
    device.run(commands);
    CHECK_FAILS(kUndefinedConfiguration, device.run({finish()}));
  }
  Device no_uops;
  no_uops.run({steps(kGemm, 0, 1)});
  CHECK_FAILS(kUndefinedConfiguration, no_uops.run({finish()}));
});

const Test continued("what goes on where another stream left off finds all rows defined", [] {
  Device device;
  device.simulator.continue_stream();
  CHECK_EQUAL(device.simulator.memories().size(), 5u);
  for (const auto& memory : device.simulator.memories()) {
    if (memory.name == "inp" || memory.name == "wgt") std::memset(memory.data, 2, memory.bytes);
  }
  device.run({steps(kGemm, 0, 1), finish()});
  CHECK_EQUAL(device.simulator.buffers().acc.row(0)[15], 64);
});

const Test beyond("rows and bytes beyond the memories are refused", [] {
  Command load = transfer(kLoad, kInp, 2040, 0, 16, 8);
  Device().run({load});
  load.x_pad_after = 1;
  CHECK_FAILS(kAddressOutOfRange, Device().run({load}));
  CHECK_FAILS(kAddressOutOfRange, Device().run({transfer(kLoad, kWgt, 1024, 0, 256, 1)}));
  CHECK_FAILS(kAddressOutOfRange, Device().run({load_uops(8191, 0, 2)}));
  CHECK_FAILS(kAddressOutOfRange, Device().run({steps(kGemm, 0, 8193)}));

  for (const int64_t row : {-1, 4089}) {
    Device device;
    device.run({tokens(transfer(kLoad, kInp, 0, row, 16, 8), "push>")});
    CHECK_FAILS(kAddressOutOfRange, device.run({finish("pop<")}));
  }
  Device high;
  Command beyond = tokens(transfer(kLoad, kInp, 0, 0, 16, 1), "push>");
  beyond.dram_base = 1 << 28;
  high.run({beyond});
  CHECK_FAILS(kAddressOutOfRange, high.run({finish("pop<")}));

  Command reset = steps(kGemm, 0, 1, 1, 2);
  reset.reset = 1;
  reset.dst_factor_in = 1;
  Loaded rows({uop(2047)});
  rows.run({reset});
  CHECK_FAILS(kAddressOutOfRange, rows.run({finish()}));
});

const Test read_only("a store into an input is refused", [] {
  std::vector<uint8_t> bytes(4096);
  sim::MemoryMap dram;
  dram.add({kDram, bytes.size(), bytes.data(), false, "input"});
  const Config config = device_with({});
  Simulator simulator(config, dram);
  for (const Command& command : {load_uops(0, 0, 1), transfer(kLoad, kAcc, 0, 1, 64, 1),
                                 tokens(alu_immediate(kAdd, 0, 0, 1), "push>"),
                                 tokens(transfer(kStore, kOut, 0, 0, 16, 1), "pop< push<")}) {
    simulator.issue(encode(command), 0);
  }
  CHECK_FAILS(kAddressOutOfRange, simulator.issue(encode(finish("pop>")), 0));
});

const Test unsupported("what the hardware does otherwise than its simulator is refused", [] {
  Command weights = transfer(kLoad, kWgt, 0, 0, 256, 1);
  weights.x_pad_before = 1;
  Command lines = transfer(kLoad, kInp, 0, 0, 16, 1);
  lines.y_size = 0;
  Command unused = steps(kAlu, 0, 1);
  unused.immediate = -1;
  Command store = transfer(kStore, kOut, 0, 0, 16, 1);
  store.y_pad_after = 1;
  for (const Command& command :
       {weights, lines, unused, store, alu_immediate(kMul, 1, 0, 1), alu_immediate(kShr, 32, 0, 1),
        alu_immediate(kShr, -32, 0, 1), steps(kGemm, 1, 1), steps(kGemm, 0, 1, 0, 1),
        steps(kAlu, 0, 1, 1, 0), transfer(kStore, kAcc, 0, 0, 64, 1),
        transfer(kLoad, kOut, 0, 0, 16, 1), only_tokens(kLoadEngine, "push<"),
        only_tokens(kLoadEngine, "pop<"), only_tokens(kStoreEngine, "push>"),
        only_tokens(kStoreEngine, "pop>")}) {
    CHECK_FAILS(kUnsupportedCommand, Device().run({command}));
  }
});

}  // namespace
}  // namespace npu::vta::testing
