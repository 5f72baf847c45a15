// A simulated device, whatever its kind: values and cycles from one command stream.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/command.h"
#include "sim/error.h"
#include "sim/host_core.h"
#include "sim/program.h"
#include "sim/program_run.h"

namespace npu::sim {

using NamedNumbers = std::vector<std::pair<std::string, int64_t>>;

// How a device is to be simulated.
struct RunOptions {
  uint64_t max_cycles = 0;  // 0: no limit
  // Without, DRAM may be missing, and addresses are not checked: for programs known to be right, of
  // which the cycles are wanted.
  bool computes_values = true;
  // Refuses what follows where its result depends on an order that the hardware does not keep.
  bool checks_races = false;
  // Called now and then, so that a caller can stop a long run by throwing.
  std::function<void()> poll = nullptr;
};

// What was done; all cycles count from the start.
struct Stats {
  int64_t cycles = 0;
  int64_t commands = 0;
  int64_t macs = 0;  // multiply-accumulates, without padding
  int64_t bytes_loaded = 0;
  int64_t bytes_stored = 0;
  int64_t host_stall_cycles = 0;  // the host waited for room in the device's queues
  NamedNumbers own;               // what else this kind of device counts
};

// A memory of the device, as bytes in the order of the host.
struct DeviceMemory {
  std::string name;
  uint8_t* data;
  size_t bytes;
  std::vector<uint8_t>* is_defined = nullptr;  // of rows, where the device tells which are not
};

// What is to be told of a run beyond its statistics.
struct Recording {
  // Takes slices of the timeline that touch the cycles [from, to), packed as the kind's Python side
  // reads them; null: none are wanted.
  std::function<void(std::string_view)> slices = nullptr;
  int64_t from = 0;
  int64_t to = 0;
};

// Numbers by name, by what they are of: the cycles of each reason, the commands of each kind...
using Profile = std::vector<std::pair<std::string, NamedNumbers>>;

// At first caches are cold, nothing is configured and the device's memories are undefined.
class Simulator {
 public:
  virtual ~Simulator() = default;

  // Runs the next command; `host_cycles` is what the host core spends before issuing it.
  // Throws SimError.
  virtual void issue(const Command& command, uint32_t host_cycles) = 0;

  // Runs all commands of a program. `addresses` is one per argument; `host` runs its loops.
  virtual void run(const Program& program, const std::vector<uint64_t>& addresses,
                   HostCore& host) = 0;

  // Waits for everything under way, as a fence does. Returns the cycles since the start. What runs
  // after that finds caches and memories as they are.
  virtual uint64_t finish() = 0;

  // What was done, as far as the last finish().
  virtual Stats stats() const = 0;

  // To be looked at and written between commands. None where no values are computed.
  virtual std::vector<DeviceMemory> memories() { return {}; }

  // Takes as defined, in no time, what a raw stream may rely on that goes on where another one left
  // off; to be called first.
  virtual void continue_stream() {}

  // Prepares for a recording, of what follows begin_recording(); to be called first. A kind of
  // device that records nothing has an empty profile(), and throws SimError unsupported_command
  // where slices are wanted.
  virtual void record(Recording recording);
  virtual void begin_recording() {}
  // What was recorded between the last two calls of finish(), or since the start.
  virtual Profile profile() const { return {}; }
};

[[noreturn]] void fail_limit(int64_t commands, uint64_t max_cycles, uint64_t cycles);

// What kinds of device derive their simulators from: a program's commands reach `Self::issue`
// directly, not through a table, which would cost more than some commands do. One whose memory the
// host's code comes from has a `delay_code` of its own.
template <typename Self>
class SimulatorOf : public Simulator {
 public:
  void run(const Program& program, const std::vector<uint64_t>& addresses, HostCore& host) final {
    for_each_command(
        program, addresses, {options_.max_cycles, options_.poll}, host,
        [self = static_cast<Self*>(this)](const Command& command, uint32_t cycles) {
          self->Self::issue(command, cycles);
        },
        [self = static_cast<Self*>(this)](uint32_t line, bool is_new, uint64_t since) {
          return self->Self::delay_code(line, is_new, since);
        });
  }

  // The host fetches a line of its code, `since` cycles after the last command, from memory if it
  // is new, else from the L2. Returns the cycles that others there make it wait longer.
  uint64_t delay_code(uint32_t /*line*/, bool /*is_new*/, uint64_t /*since*/) { return 0; }

 protected:
  explicit SimulatorOf(RunOptions options) : options_(std::move(options)) {}
  const RunOptions& options() const { return options_; }

  // Throws LimitError past the limit.
  void check_limit(int64_t commands, uint64_t cycles) const {
    if (options_.max_cycles != 0 && cycles > options_.max_cycles) {
      fail_limit(commands, options_.max_cycles, cycles);
    }
  }

 private:
  const RunOptions options_;
};

}  // namespace npu::sim
