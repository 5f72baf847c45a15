// Tokens between the engines, and the order that they keep.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "vta/simulator/command.h"
#include "vta/simulator/config.h"

namespace npu::vta {

struct TokenQueue {
  Engine from;
  Engine to;

  bool is_popped_by(const Command& command) const {
    return engine_of(command) == to && (from < to ? command.pop_prev : command.pop_next);
  }
  bool is_pushed_by(const Command& command) const {
    return engine_of(command) == from && (from < to ? command.push_next : command.push_prev);
  }
  std::string name() const { return std::string(engine_name(from)) + " to " + engine_name(to); }
};

constexpr int kTokenQueues = 4;
constexpr TokenQueue kQueues[kTokenQueues] = {{kLoadEngine, kComputeEngine},
                                              {kComputeEngine, kLoadEngine},
                                              {kComputeEngine, kStoreEngine},
                                              {kStoreEngine, kComputeEngine}};

// How many commands of each engine are over.
using Clock = std::array<int64_t, kEngines>;

// A command that runs, and what is certain to be over by then, whatever the engines' speeds.
struct RunningCommand {
  const IssuedCommand& issued;
  int64_t number;  // counts its engine's commands, over all launches
  Clock before;

  // Throws SimError race unless the first `over` commands of an engine are over. `what` goes on
  // after "which".
  void need_over(Engine engine, int64_t over, const std::string& what) const;
};

// Follows the tokens beside the cycles that Timing counts.
class TokenOrder {
 public:
  explicit TokenOrder(const Config& config) : config_(config) {}

  // Takes the next command of its engine, whose tokens are there. Throws SimError race when a
  // counter of tokens could overflow.
  RunningCommand run(const IssuedCommand& issued);

  // To be called when all commands up to FINISH are over, after which the host may launch again.
  // Throws SimError race when tokens are left, or when FINISH does not wait for everything.
  void finish(const IssuedCommand& finish);

 private:
  struct Tokens {
    std::deque<Clock> clocks;  // of the commands that gave them
    // By the number of the command: pops that the giving engine cannot know of yet.
    std::deque<int64_t> unknown_pops;
  };

  void take_tokens(const Command& command, Clock& clock);
  void give_tokens(const IssuedCommand& issued, const Clock& clock);

  const Config& config_;
  std::array<Tokens, kTokenQueues> tokens_;
  std::array<Clock, kEngines> clocks_ = {};  // of each engine: what it knows to be over
};

}  // namespace npu::vta
