// Cycles, counted by hand from the hardware's state machines.
#include <cstring>

#include "device.h"

namespace npu::vta::testing {
namespace {

// With 30 cycles of latency and 8 B a cycle, both of which device_fields() say.
constexpr int64_t kLatency = 30;

int64_t busy(const Device& device, Engine engine) {
  return device.simulator.device_stats().busy_cycles[engine];
}

// The load engine's cycles with one load.
int64_t load_cycles(Command load, const Config& config = device_with({})) {
  Device device(config);
  device.run({tokens(load, "push>"), finish("pop<")});
  return busy(device, kLoadEngine);
}

Command lines(int64_t y_size, int64_t x_size, int64_t x_stride, int64_t dram_row = 0) {
  Command load = transfer(kLoad, kInp, 0, dram_row, 16, x_size);
  load.y_size = y_size;
  load.x_stride = x_stride;
  return load;
}

const Test shortest("a launch of FINISH alone", [] {
  Device device;
  device.run({finish()});
  // The request, the answer of two beats, a register, the queue, FINISH.
  CHECK_EQUAL(static_cast<int64_t>(device.simulator.finish()), 2 + kLatency + 2 + 1 + 1 + 2);
  CHECK_EQUAL(device.simulator.device_stats().command_bytes, 16);
});

const Test host("the host's cycles come before the launch and behind it", [] {
  Device device(device_with({{"host_launch_cycles", 100}}));
  device.simulator.issue(encode(finish()), 7);
  CHECK_EQUAL(static_cast<int64_t>(device.simulator.finish()), 7 + 38 + 100);
  device.simulator.issue(encode(finish()), 7);
  CHECK_EQUAL(static_cast<int64_t>(device.simulator.finish()), 2 * (7 + 38 + 100));
  CHECK_EQUAL(device.simulator.device_stats().launch_cycles, 76);
});

const Test computing("a step a cycle, two for a step with two rows", [] {
  Device device;
  const uint32_t uop = 0;
  std::memcpy(device.bytes.data(), &uop, 4);
  Command reset = steps(kGemm, 0, 1, 10, 10);
  reset.reset = 1;
  device.run({load_uops(0, 0, 1), finish()});
  const int64_t before = busy(device, kComputeEngine);
  CHECK_EQUAL(before, 2 + kLatency + 1 + 3 + 2);
  device.run({reset, finish()});
  CHECK_EQUAL(busy(device, kComputeEngine) - before, 100 + 7 + 2);
  Command add = alu_immediate(kAdd, 1, 0, 1);
  add.iter_in = 50;
  add.dst_factor_in = 1;
  device.run({transfer(kLoad, kAcc, 0, 0, 64, 50), finish()});
  const int64_t loaded = busy(device, kComputeEngine);
  device.run({add, finish()});
  CHECK_EQUAL(busy(device, kComputeEngine) - loaded, 50 + 7 + 2);
  add.use_immediate = 0;
  add.immediate = 0;
  add.src_factor_in = 1;
  device.run({add, finish()});
  CHECK_EQUAL(busy(device, kComputeEngine) - loaded, 50 + 7 + 2 + 100 + 7 + 2);
  CHECK_EQUAL(device.simulator.device_stats().gemm_steps, 100);
  CHECK_EQUAL(device.simulator.device_stats().alu_steps, 100);
});

const Test loading("a load takes the latency once, then a beat a cycle", [] {
  CHECK_EQUAL(load_cycles(lines(1, 16, 16)), 2 + kLatency + 32 + 3);
  // Bursts end at multiples of 2048 B; the next is asked for meanwhile.
  CHECK_EQUAL(load_cycles(lines(1, 128, 128, 64)), 2 + kLatency + 256 + 3);
  CHECK_EQUAL(load_cycles(lines(1, 128, 128, 64), device_with({{"bus_reads_in_flight", 1}})),
              2 + 2 * (kLatency + 128) + 3);
  // Lines of 2 beats come as fast as they are asked for, every other cycle.
  CHECK_EQUAL(load_cycles(lines(8, 1, 3)), 2 + kLatency + 16 + 3);
  // The bus is not the memory.
  CHECK_EQUAL(load_cycles(lines(1, 16, 16), device_with({{"memory_bytes_per_kilocycle", 4000}})),
              2 + kLatency + 64 + 3);
  // One request at a time.
  CHECK_EQUAL(load_cycles(lines(4, 1, 3), device_with({{"bus_reads_in_flight", 1}})),
              2 + 4 * (kLatency + 2) + 3);
});

const Test padding("rows of zeros take a cycle each, beside the latency", [] {
  Command load = lines(1, 1, 1);
  load.x_pad_before = 10;
  load.x_pad_after = 10;
  CHECK_EQUAL(load_cycles(load), 2 + kLatency + 2 + 3);
  load.y_pad_before = 15;
  load.y_pad_after = 15;
  CHECK_EQUAL(load_cycles(load), 2 + 31 * 21 - 1 + 2);
});

const Test storing("a store takes the latency for each burst", [] {
  Device device;
  const uint32_t uop = 0;
  std::memcpy(device.bytes.data(), &uop, 4);
  Command compute = alu_immediate(kAdd, 0, 0, 1);
  compute.iter_in = 8;
  compute.dst_factor_in = 1;
  Command store = tokens(transfer(kStore, kOut, 0, 1024, 16, 4), "pop< push<");
  store.y_size = 2;
  device.run({load_uops(0, 0, 1), transfer(kLoad, kAcc, 0, 16, 64, 8), tokens(compute, "push>"),
              store, finish("pop>")});
  // Each of 4 rows of 2 beats, and 3 reads of the buffer between them.
  CHECK_EQUAL(busy(device, kStoreEngine), 1 + 2 * (2 + 8 + 3 + kLatency + 1));
  CHECK_EQUAL(device.simulator.device_stats().written_bytes, 128);
});

// Loads of 64 rows of weights, each followed by 500 resets of rows, the loads ahead of them or not.
int64_t overlapped(bool is_ahead, int64_t entries) {
  Device device(device_with({{"command_queue_entries", entries}}));
  const uint32_t uop = 0;
  std::memcpy(device.bytes.data(), &uop, 4);
  Command reset = steps(kGemm, 0, 1, 1, 500);
  reset.reset = 1;
  reset.dst_factor_in = 1;
  device.run({load_uops(0, 0, 1)});
  const std::string answers = is_ahead ? "pop<" : "pop< push<";
  for (int i = 0; i < 4; ++i) {
    const std::string asks = is_ahead || i == 0 ? "push>" : "pop> push>";
    device.run({tokens(transfer(kLoad, kWgt, 64 * i, 0, 256, 64), asks),
                tokens(reset, i == 3 ? "pop<" : answers)});
  }
  device.run({finish()});
  return static_cast<int64_t>(device.simulator.finish());
}

const Test overlap("engines work beside each other as far as tokens and queues let them", [] {
  const int64_t ahead = overlapped(true, 512);
  const int64_t in_turn = overlapped(false, 512);
  // Each load takes 2083 cycles, each compute command 507, of which three hide.
  CHECK_EQUAL(in_turn - ahead, 3 * 507);
  const int64_t kept_back = overlapped(true, 1);
  CHECK(ahead < kept_back && kept_back < in_turn);
  Device device;
  const Command wait = only_tokens(kComputeEngine, "pop<");
  device.run({tokens(lines(1, 16, 16), "push>"), wait, finish()});
  // Handed out a cycle after the load, it waits for the load's 67.
  CHECK_EQUAL(device.simulator.device_stats().token_wait_cycles[kComputeEngine], 67 - 1);
});

const Test shared_bus("two engines that load share the bus", [] {
  // 128 rows of 16 B for the load engine, 32 of 64 B for compute: 256 beats each.
  Device device;
  device.run(
      {tokens(lines(1, 128, 128), "push>"), transfer(kLoad, kAcc, 0, 0, 64, 32), finish("pop<")});
  CHECK_EQUAL(busy(device, kLoadEngine), 2 + kLatency + 256 + 3);
  // A cycle later, and behind the other's data.
  CHECK_EQUAL(busy(device, kComputeEngine), 2 + kLatency + 512 + 3 - 1 + 2);
});

const Test few_entries("a command waits for a place in its engine's queue", [] {
  // FINISH waits for two loads of 67 cycles, from when it is seen on. With one entry it is handed
  // out 3 cycles after the first load's end, behind the second load and a command of its own
  // engine.
  for (const auto& [entries, waits] : std::vector<std::pair<int64_t, int64_t>>{{1, 63}, {2, 130}}) {
    Device device(device_with({{"command_queue_entries", entries}}));
    const Command load = lines(1, 16, 16);
    device.run({load, tokens(load, "push>"), only_tokens(kComputeEngine, ""), finish("pop<")});
    CHECK_EQUAL(device.simulator.device_stats().token_wait_cycles[kComputeEngine], waits);
  }
});

const Test no_values("the cycles without values, for which no DRAM is needed", [] {
  const std::vector<Command> commands = {load_uops(0, 0, 2), tokens(lines(2, 5, 7), "push>"),
                                         tokens(steps(kGemm, 0, 2, 3, 4), "pop<"), finish()};
  Device device;
  std::memset(device.bytes.data(), 0, 8);
  device.run({transfer(kLoad, kAcc, 0, 0, 64, 1),
              tokens(transfer(kLoad, kWgt, 0, 0, 256, 1), "push>"), finish("pop<")});
  const uint64_t before = device.simulator.finish();
  device.run(commands);
  const sim::MemoryMap none;
  sim::RunOptions options;
  options.computes_values = false;
  options.checks_races = true;
  Simulator simulator(device.config, none, options);
  for (const Command& command : commands) simulator.issue(encode(command), 0);
  CHECK_EQUAL(simulator.finish(), device.simulator.finish() - before);
  simulator.issue(encode(only_tokens(kComputeEngine, "pop<")), 0);
  CHECK_FAILS(kDeadlock, simulator.issue(encode(finish()), 0));
});

const Test statistics("what was done, by name", [] {
  Device device;
  std::memset(device.bytes.data(), 0, 8);
  device.run({load_uops(0, 0, 2), tokens(transfer(kLoad, kWgt, 0, 0, 256, 1), ""),
              tokens(transfer(kLoad, kInp, 0, 0, 16, 1), "push>"),
              transfer(kLoad, kAcc, 0, 0, 64, 1), tokens(steps(kGemm, 0, 2, 3, 4), "pop<"),
              finish()});
  device.simulator.finish();
  const sim::Stats stats = device.simulator.stats();
  CHECK_EQUAL(stats.commands, 6);
  CHECK_EQUAL(stats.macs, 24 * 256);
  CHECK_EQUAL(stats.bytes_loaded, 8 + 256 + 16 + 64);
  CHECK_EQUAL(stats.own[0].first, "alu_steps");
  CHECK_EQUAL(stats.own[1].second, 6 * 16);
});

const Test limit("a limit on cycles is an error of its own", [] {
  Device device;
  Simulator simulator(device.config, device.map, checking_races(37));
  CHECK_FAILS(kTimedOut, simulator.issue(encode(finish()), 0));
  Simulator enough(device.config, device.map, checking_races(38));
  enough.issue(encode(finish()), 0);
});

}  // namespace
}  // namespace npu::vta::testing
