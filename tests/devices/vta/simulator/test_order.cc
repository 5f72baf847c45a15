// What tokens order, and what is refused because they do not.
#include <cstring>

#include "device.h"

namespace npu::vta::testing {
namespace {

constexpr int64_t kInpRow = 0;
constexpr int64_t kWgtRow = 0;

// A device that has, for i of 0 to 3, the micro-ops i, row i of everything, and kAlu0 + i, of the
// accumulator alone.
constexpr int64_t kAlu0 = 4;

struct Ready : Device {
  explicit Ready(const Config& config = device_with({})) : Device(config) {
    for (uint32_t i = 0; i < 4; ++i) {
      set_uop(i, i | i << 11 | i << 22);
      set_uop(4 + i, i | i << 11);
    }
    run({load_uops(0, 0, 8), transfer(kLoad, kAcc, 0, 16, 64, 4), finish()});
  }
  void set_uop(uint32_t index, uint32_t uop) { std::memcpy(&bytes[4 * index], &uop, 4); }
  void run_to_end(const std::vector<Command>& commands, const std::string& tokens_of_finish = "") {
    run(commands);
    run({finish(tokens_of_finish)});
  }
};

Command load_inp(int64_t row, const std::string& which, int64_t dram_row = 64) {
  return tokens(transfer(kLoad, kInp, row, dram_row, 16, 1), which);
}
Command load_wgt(int64_t row, const std::string& which) {
  return tokens(transfer(kLoad, kWgt, row, 16, 256, 1), which);
}
Command gemm(int64_t row, const std::string& which) {
  return tokens(steps(kGemm, row, row + 1), which);
}
Command add_one(int64_t row, const std::string& which) {
  return tokens(alu_immediate(kAdd, 1, kAlu0 + row, kAlu0 + row + 1), which);
}
Command store(int64_t row, const std::string& which, int64_t dram_row = 1024) {
  return tokens(transfer(kStore, kOut, row, dram_row, 16, 1), which);
}

const Test waits_forever("a command that waits for what never comes is a deadlock", [] {
  Ready device;
  device.run({gemm(0, "pop<"), store(0, "pop<")});
  const std::string text = CHECK_FAILS(kDeadlock, device.run({finish()}));
  CHECK(text.find("command 3 gemm(pop_prev=1, uop_end=1") != std::string::npos);
  CHECK(text.find("wait at 3 gemm") != std::string::npos);
  CHECK(text.find(", 4 store(") != std::string::npos);

  Ready circle;
  circle.run({only_tokens(kLoadEngine, "pop> push>"), only_tokens(kComputeEngine, "pop< push<")});
  CHECK_FAILS(kDeadlock, circle.run({finish()}));

  Ready endless;
  endless.run({add_one(0, "")});
  CHECK_FAILS(kDeadlock, endless.simulator.finish());
});

const Test full_queue("a queue that is full keeps back the commands of the others", [] {
  const std::vector<Command> commands = {only_tokens(kComputeEngine, "pop<"),
                                         only_tokens(kComputeEngine, ""),
                                         only_tokens(kLoadEngine, "push>")};
  for (const int64_t entries : {1, 2}) {
    Device device(device_with({{"command_queue_entries", entries}}));
    device.run(commands);
    if (entries == 2) {
      device.run({finish()});
    } else {
      CHECK_FAILS(kDeadlock, device.run({finish()}));
    }
  }
});

const Test operands("loads are ordered before what reads them, and after", [] {
  const auto run = [](const std::string& first, const std::string& computing,
                      const std::string& second, int64_t second_row) {
    Ready device;  // whose rows hold something, so that nothing is undefined
    device.run_to_end({load_inp(kInpRow, ""), load_wgt(kWgtRow, "push>")}, "pop<");
    device.run_to_end({load_inp(kInpRow, ""), load_wgt(kWgtRow, first), gemm(0, computing),
                       load_inp(second_row, second)},
                      "pop<");
  };
  run("push>", "pop< push<", "pop> push>", kInpRow);
  run("push>", "pop<", "push>", kInpRow + 1);  // other rows need none
  CHECK_FAILS(kRace, run("push>", "pop<", "push>", kInpRow));
  CHECK_FAILS(kRace, run("", "", "push>", kInpRow + 1));
});

const Test which_load("the token of a load does not speak for the next one", [] {
  const auto run = [](const std::string& first, const std::string& second) {
    Ready device;
    device.run_to_end({load_inp(kInpRow, ""), load_wgt(kWgtRow, "push>")}, "pop<");
    device.run({load_inp(kInpRow, first), load_wgt(kWgtRow, second), gemm(0, "pop<"),
                only_tokens(kLoadEngine, "push>")});
    device.run({finish("pop<")});
  };
  run("", "push>");
  CHECK_FAILS(kRace, run("push>", ""));
});

const Test results("stores are ordered after what computes, and before what computes next", [] {
  Ready().run_to_end({add_one(0, "push>"), store(0, "pop< push<"), add_one(0, "pop>")});
  Ready().run_to_end({add_one(0, "push>"), store(0, "pop< push<"), add_one(1, "")}, "pop>");
  for (const Command& next : {add_one(0, ""), transfer(kLoad, kAcc, 0, 16, 64, 1)}) {
    Ready device;
    device.run({add_one(0, "push>"), store(0, "pop< push<"), next});
    CHECK_FAILS(kRace, device.run({finish("pop>")}));
  }
  Ready late;
  late.run({add_one(0, "push>"), add_one(1, ""), store(1, "pop< push<")});
  CHECK_FAILS(kRace, late.run({finish("pop>")}));
});

const Test dram("what is stored is loaded again only after a way of tokens", [] {
  const Command compute = add_one(0, "push>");
  const auto run = [&](const Command& stored, const std::string& between, const Command& load) {
    Ready().run_to_end({compute, stored, only_tokens(kComputeEngine, between), load}, "pop<");
  };
  const Command stored = store(0, "pop< push<", 1024);
  run(stored, "pop> push<", load_inp(0, "pop> push>", 1024));
  run(stored, "pop>", load_inp(0, "push>", 1025));
  CHECK_FAILS(kRace, run(stored, "pop>", load_inp(0, "push>", 1024)));

  // Lines in between each other, and one of them too long.
  Command columns = load_inp(0, "push>", 1023);
  columns.y_size = 5;
  columns.x_stride = 2;
  run(stored, "pop>", columns);
  columns.x_size = 2;
  CHECK_FAILS(kRace, run(stored, "pop>", columns));
  columns.x_stride = 0;
  CHECK_FAILS(kRace, run(stored, "pop>", columns));
  columns.dram_base += 2;
  run(stored, "pop>", columns);

  // The compute engine's own loads.
  Ready device;
  device.run({compute, stored, transfer(kLoad, kAcc, 1, 256, 64, 1)});
  CHECK_FAILS(kRace, device.run({finish("pop>")}));
  // A store over what a load may not have read yet.
  Ready over;
  over.run({load_inp(0, "push>", 1024), compute, stored, only_tokens(kComputeEngine, "pop>")});
  CHECK_FAILS(kRace, over.run({finish("pop<")}));
});

const Test at_the_end("FINISH waits for all, and leaves no tokens", [] {
  for (const auto& [first, last] : std::vector<std::pair<std::vector<Command>, std::string>>{
           {{load_inp(0, "")}, ""},
           {{load_inp(0, "push>"), load_inp(1, "")}, "pop<"},
           {{load_inp(0, "push>")}, ""},
           {{only_tokens(kStoreEngine, "push<")}, ""},
           {{add_one(0, "push>"), store(0, "pop<")}, ""},
           {{}, "push<"},
           {{}, "push>"}}) {
    Ready device;
    device.run(first);
    CHECK_FAILS(kRace, device.run({finish(last)}));
  }
});

const Test counters("tokens that could be more than a counter holds are refused", [] {
  const Config config = device_with({{"token_limit", 2}});
  const Command give = only_tokens(kLoadEngine, "push>");
  const Command take = only_tokens(kComputeEngine, "pop<");
  Device(config).run({give, give, take, take, finish()});
  // Whatever compute does in between: nothing tells load of it.
  Device three(config);
  three.run({give, take, give, take, give, take});
  CHECK_FAILS(kRace, three.run({finish()}));
  Device answered(config);
  const Command answer = only_tokens(kComputeEngine, "pop< push<");
  answered.run({give, give, take, answer, only_tokens(kLoadEngine, "pop> push>"), take, finish()});
});

const Test pipeline("an ALU step does not see what is still in the pipeline", [] {
  // Rows 0, 1 and 2 in turn are far enough from each other, two rows are not.
  for (const int64_t rows : {1, 2, 3}) {
    Ready device;
    Command add = alu_immediate(kAdd, 1, kAlu0, kAlu0 + rows);
    add.iter_out = 2;
    device.run({add});
    if (rows == 3) {
      device.run({finish()});
      CHECK(device.simulator.buffers().acc.is_defined[2]);
    } else {
      CHECK_FAILS(kRace, device.run({finish()}));
    }
  }
  // With two operands the step before alone.
  for (const int64_t rows : {1, 2}) {
    Ready device;
    Command add = steps(kAlu, kAlu0, kAlu0 + rows, 2, 1);
    add.alu_op = kAdd;
    device.run({add});
    if (rows == 2) {
      device.run({finish()});
    } else {
      CHECK_FAILS(kRace, device.run({finish()}));
    }
  }
  // A source that the step before writes: row 1 from 0, then 2 from 1.
  Ready source;
  for (uint32_t i = 0; i < 2; ++i) source.set_uop(i, (i + 1) | i << 11);
  Command add = steps(kAlu, 0, 2);
  add.alu_op = kAdd;
  source.run({load_uops(0, 0, 2), add});
  CHECK_FAILS(kRace, source.run({finish()}));
  // GEMM steps pass results on.
  Ready repeated;
  repeated.run_to_end(
      {load_inp(0, ""), load_wgt(0, "push>"), tokens(steps(kGemm, 0, 1, 5, 5), "pop<")});
});

const Test several_launches("a launch finds the buffers as they are", [] {
  Ready device;
  device.run_to_end({load_inp(kInpRow, ""), load_wgt(kWgtRow, "push>")}, "pop<");
  device.run_to_end({gemm(0, "push>"), store(0, "pop< push<")}, "pop>");
  device.run_to_end({load_inp(kInpRow, "push>", 1024)}, "pop<");
  CHECK_EQUAL(int{device.simulator.buffers().inp.row(0)[3]},
              static_cast<int8_t>(device.simulator.buffers().acc.row(0)[3]));
});

}  // namespace
}  // namespace npu::vta::testing
