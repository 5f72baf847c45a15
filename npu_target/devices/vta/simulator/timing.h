// The device's cycles: three engines with their queues, a unit that fetches commands for them,
// tokens in between and one bus to memory.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "vta/simulator/bus.h"
#include "vta/simulator/command.h"
#include "vta/simulator/config.h"
#include "vta/simulator/functional.h"
#include "vta/simulator/tokens.h"

namespace npu::vta {

struct Stats {
  int64_t launch_cycles = 0;
  // Of each engine; in the rest of the launches' cycles it has no command.
  std::array<int64_t, kEngines> busy_cycles = {};
  std::array<int64_t, kEngines> token_wait_cycles = {};
  int64_t gemm_steps = 0, alu_steps = 0;
  int64_t command_bytes = 0;
  int64_t read_bytes = 0;  // without those of commands
  int64_t written_bytes = 0;
};

// Engines and the fetching unit are advanced one burst or one command at a time, always the one
// whose next event is earliest, so that the bus sees requests in order.
class Timing {
 public:
  explicit Timing(const Config& config) : config_(config), bus_(config) {}

  // Runs a launch, whose last command is FINISH, the only one, from a cycle on. Calls `run` with
  // each command when it begins. Returns the cycle in which FINISH is over. Throws SimError
  // deadlock for commands that wait for each other, which does not depend on speeds: queues are in
  // order and bounded.
  using Run = std::function<void(const IssuedCommand&)>;
  int64_t run_launch(const std::vector<IssuedCommand>& commands, int64_t begin, const Run& run);

  const Stats& stats() const { return stats_; }

 private:
  struct Queued {
    const IssuedCommand* issued;
    int64_t visible;  // to its engine
  };

  // A LOAD or STORE under way, a burst at a time.
  struct Transfer {
    DramLines lines;
    int64_t begin;
    int64_t next;          // when the next burst may be asked for
    int64_t padding_rows;  // of zeros
    int64_t line = 0;
    int64_t done_of_line = 0;  // bytes
    int64_t first_data = std::numeric_limits<int64_t>::max();

    bool is_done() const { return line == lines.lines; }
    // Moves past the next burst, which ends where an address is a multiple of `most`, the longest
    // one, and returns its bytes.
    int64_t take_burst(int64_t most);
  };

  struct EngineState {
    std::deque<Queued> queue;
    std::vector<int64_t> ends;  // of this launch's commands
    int64_t free = 0;
    std::optional<Transfer> transfer;
  };

  // Reads a burst of commands, then hands them out one a cycle, then reads again.
  struct Fetch {
    size_t read = 0;
    size_t handed_out = 0;
    std::array<size_t, kEngines> handed_to = {};
    int64_t next = 0;
  };

  // When an event is next, unless it waits for another.
  using When = std::optional<int64_t>;
  When fetch_event() const;
  When engine_event(Engine engine) const;
  void fetch(int64_t now);
  void start(Engine engine, int64_t now, const Run& run);
  void load_burst(Engine engine, Transfer& transfer);
  void store_burst(Engine engine, Transfer& transfer);
  void end_command(Engine engine, int64_t end);
  void check_all_ended() const;

  const Config& config_;
  Bus bus_;
  const std::vector<IssuedCommand>* commands_ = nullptr;  // of the launch
  std::array<EngineState, kEngines> engines_;
  std::array<std::deque<int64_t>, kTokenQueues> tokens_;  // when each may be taken
  Fetch fetch_;
  Stats stats_;
};

}  // namespace npu::vta
