// Kinds of device: known by name, made of their numbers, run through the interface of all of them.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check.h"
#include "program_bytes.h"
#include "sim/device_kind.h"
#include "sim/host_core.h"

namespace npu::sim::testing {
namespace {

// Takes a cycle a command beside the host's, and keeps what it was told.
class CountingSimulator final : public SimulatorOf<CountingSimulator> {
 public:
  explicit CountingSimulator(RunOptions options) : SimulatorOf(std::move(options)) {}

  void issue(const Command& command, uint32_t host_cycles) final {
    cycles_ += host_cycles + 1;
    last_ = command;
    check_limit(++commands_, cycles_);
  }
  uint64_t finish() final { return cycles_; }
  Stats stats() const final {
    Stats stats;
    stats.cycles = static_cast<int64_t>(cycles_);
    stats.commands = commands_;
    stats.own = {{"last_word", static_cast<int64_t>(last_.rs2)}};
    return stats;
  }

 private:
  uint64_t cycles_ = 0;
  int64_t commands_ = 0;
  Command last_ = {};
};

// Refuses odd clocks, and sees arguments from address 64 on.
class CountingKind final : public DeviceKind {
 public:
  std::string name() const final { return "counting"; }
  void check(const ConfigPairs& numbers) const final {
    for (const auto& [field, value] : numbers) {
      if (field == "clock_khz" && value % 2 != 0) fail_config("clock_khz", value, "even");
    }
  }
  std::unique_ptr<Simulator> simulator(const ConfigPairs& numbers, const MemoryMap&,
                                       RunOptions options) const final {
    check(numbers);
    return std::make_unique<CountingSimulator>(std::move(options));
  }
  std::vector<uint64_t> addresses(const Program& program) const final {
    std::vector<uint64_t> addresses;
    for (size_t i = 0; i < program.arguments.size(); ++i) addresses.push_back(64 * (i + 1));
    return addresses;
  }
};

const CountingKind kCounting;
const KindRegistration kRegistration(kCounting);

// Three commands in a loop, whose second word is the address of the argument.
std::string counting_program(const std::string& kind, int64_t clock_khz = 500000) {
  ConfigPairs fields = host_fields();
  fields[0].second = clock_khz;
  Bytes b = program_head(fields, kind);
  b.u32(1).text("x").u8(0).text("int8").u32(1).u64(64).u32(1);
  constant(b, 3);
  b.u32(1).u8(1).u32(0).u32(0).u32(1).u8(2).u8(9);
  plain_operand(b, 0);
  b.u64(0).address(0).u32(0).u32(0);
  return program_file(b.data);
}

uint64_t cycles_of(const Program& program, RunOptions options = {}) {
  const DeviceKind* kind = find_kind(program.kind);
  const MemoryMap dram;
  const auto simulator = kind->simulator(program.numbers, dram, std::move(options));
  HostCore host(program.host);
  simulator->run(program, kind->addresses(program), host);
  const uint64_t cycles = simulator->finish();
  CHECK_EQUAL(simulator->stats().commands, 3);
  CHECK_EQUAL(simulator->stats().own[0].second, 64);
  CHECK(simulator->memories().empty() && simulator->profile().empty());
  return cycles;
}

const Test by_name("device kind: found by the name that a program has", [] {
  CHECK_EQUAL(kind_names(), std::string("counting"));
  CHECK(find_kind("nothing") == nullptr);
  const Program program = Program::parse(counting_program("counting"));
  uint64_t of_host = 0;
  for_each_command(program, {64}, {}, [&](const Command&, uint32_t cycles) { of_host += cycles; });
  CHECK_EQUAL(cycles_of(program), of_host + 3);
});

const Test numbers("device kind: numbers are checked where the kind is known", [] {
  const std::string error =
      CHECK_FAILS(kBadProgram, Program::parse(counting_program("counting", 333333)));
  CHECK(error.find("clock_khz is 333333, must be even") != std::string::npos);
  CHECK_EQUAL(Program::parse(counting_program("elsewhere", 333333)).host.clock_khz, 333333);
});

const Test limits("device kind: a limit that is passed is told apart", [] {
  const Program program = Program::parse(counting_program("counting"));
  RunOptions options;
  options.max_cycles = cycles_of(program) - 1;
  bool is_past = false;
  try {
    cycles_of(program, options);
  } catch (const LimitError& error) {
    is_past = error.kind == ErrorKind::kTimedOut;
  }
  CHECK(is_past);
});

const Test recording("device kind: of one that records nothing only a timeline is refused", [] {
  const MemoryMap dram;
  const auto simulator = kCounting.simulator(host_fields(), dram, {});
  Recording recording;
  simulator->record(recording);
  CHECK(simulator->profile().empty());
  recording.slices = [](std::string_view) {};
  const std::string error = CHECK_FAILS(kUnsupportedCommand, simulator->record(recording));
  CHECK(error.find("timeline: needs a kind of device") != std::string::npos);
});

}  // namespace
}  // namespace npu::sim::testing
