#include "vta/simulator/tokens.h"

#include <algorithm>
#include <string>

namespace npu::vta {

using sim::ErrorKind;

void RunningCommand::need_over(Engine engine, int64_t over, const std::string& what) const {
  if (over <= before[engine]) return;
  issued.fail(ErrorKind::kRace, "needs a token that comes after command " +
                                    std::to_string(over - 1) + " of " + engine_name(engine) +
                                    ", counted by itself, which " + what);
}

RunningCommand TokenOrder::run(const IssuedCommand& issued) {
  const Engine engine = engine_of(issued.command);
  Clock& clock = clocks_[engine];
  take_tokens(issued.command, clock);
  const RunningCommand running = {issued, clock[engine], clock};
  ++clock[engine];
  give_tokens(issued, clock);
  return running;
}

void TokenOrder::take_tokens(const Command& command, Clock& clock) {
  for (int queue = 0; queue < kTokenQueues; ++queue) {
    if (!kQueues[queue].is_popped_by(command)) continue;
    Tokens& tokens = tokens_[queue];
    tokens.unknown_pops.push_back(clock[kQueues[queue].to]);
    const Clock& given = tokens.clocks.front();
    for (int engine = 0; engine < kEngines; ++engine) {
      clock[engine] = std::max(clock[engine], given[engine]);
    }
    tokens.clocks.pop_front();
  }
}

void TokenOrder::give_tokens(const IssuedCommand& issued, const Clock& clock) {
  for (int queue = 0; queue < kTokenQueues; ++queue) {
    if (!kQueues[queue].is_pushed_by(issued.command)) continue;
    Tokens& tokens = tokens_[queue];
    auto& unknown = tokens.unknown_pops;
    while (!unknown.empty() && unknown.front() < clock[kQueues[queue].to]) unknown.pop_front();
    tokens.clocks.push_back(clock);
    const auto most = static_cast<int64_t>(tokens.clocks.size() + unknown.size());
    if (most <= config_.token_limit) continue;
    issued.fail(ErrorKind::kRace, "needs at most " + std::to_string(config_.token_limit) +
                                      " tokens from " + kQueues[queue].name() + ", may have " +
                                      std::to_string(most));
  }
}

void TokenOrder::finish(const IssuedCommand& finish) {
  for (int queue = 0; queue < kTokenQueues; ++queue) {
    const size_t left = tokens_[queue].clocks.size();
    if (left == 0) continue;
    finish.fail(ErrorKind::kRace, "needs no tokens left from " + kQueues[queue].name() + ", has " +
                                      std::to_string(left));
  }
  const Clock known = clocks_[kComputeEngine];
  for (const Engine engine : {kLoadEngine, kStoreEngine}) {
    RunningCommand{finish, 0, known}.need_over(engine, clocks_[engine][engine],
                                               "may go on after the launch");
  }
  clocks_.fill(known);
}

}  // namespace npu::vta
