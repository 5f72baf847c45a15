#include "vta/simulator/timing.h"

#include <algorithm>
#include <string>

namespace npu::vta {
namespace {

// Cycles of the state machines of VTA's Chisel sources, each from the cycle in which an engine sees
// a command and its tokens to the one in which it sees the next.

constexpr int64_t kPipelineCycles = 7;    // of a GEMM or ALU command, beside its steps
constexpr int64_t kTokensOnlyCycles = 2;  // of FINISH, too
// From a LOAD's start to its first request at the bus, through a queue that holds one of them; from
// one request to the next; from after the last data, which pass registers, to the next command;
// from the start to the first row of zeros, of which one is written in each cycle without data.
constexpr int64_t kFirstRequestCycles = 2;
constexpr int64_t kRequestIntervalCycles = 2;
constexpr int64_t kLoadEndCycles = 3;
constexpr int64_t kPaddingBeginCycles = 2;
// From a STORE's start to its first burst; from a burst's request to its first data; from its
// acknowledgement to the next one or the next command.
constexpr int64_t kStoreBeginCycles = 1;
constexpr int64_t kBurstBeginCycles = 2;
constexpr int64_t kAcknowledgeCycles = 1;
// From the launch, or the last command of a burst handed out, to the next request; from after its
// data to the first command handed out; from there to the engine that sees it.
constexpr int64_t kFetchRequestCycles = 2;
constexpr int64_t kFetchDrainCycles = 1;
constexpr int64_t kHandOutCycles = 1;
constexpr int64_t kCommandBytes = 16;

}  // namespace

int64_t Timing::run_launch(const std::vector<IssuedCommand>& commands, int64_t begin,
                           const Run& run) {
  commands_ = &commands;
  for (EngineState& state : engines_) {
    state.ends.clear();
    state.free = begin;
  }
  fetch_ = Fetch();
  fetch_.next = begin + kFetchRequestCycles;
  while (true) {
    // Of events in the same cycle the bus takes the fetching unit's first.
    When earliest = fetch_event();
    std::optional<Engine> engine;
    for (const Engine other : {kComputeEngine, kLoadEngine, kStoreEngine}) {
      const When event = engine_event(other);
      if (!event || (earliest && *earliest <= *event)) continue;
      earliest = event;
      engine = other;
    }
    if (!earliest) break;
    if (!engine) {
      fetch(*earliest);
    } else if (std::optional<Transfer>& transfer = engines_[*engine].transfer; !transfer) {
      start(*engine, *earliest, run);
    } else if (*engine == kStoreEngine) {
      store_burst(*engine, *transfer);
    } else {
      load_burst(*engine, *transfer);
    }
  }
  check_all_ended();
  const int64_t end = engines_[kComputeEngine].free;
  stats_.launch_cycles += end - begin;
  return end;
}

Timing::When Timing::fetch_event() const {
  if (fetch_.handed_out == commands_->size()) return std::nullopt;
  if (fetch_.handed_out == fetch_.read) return fetch_.next;
  const Engine engine = engine_of((*commands_)[fetch_.handed_out].command);
  const auto entries = static_cast<size_t>(config_.command_queue_entries);
  const size_t before = fetch_.handed_to[engine];
  if (before < entries) return fetch_.next;
  const std::vector<int64_t>& ends = engines_[engine].ends;
  // A command leaves the queue when it is over.
  if (ends.size() <= before - entries) return std::nullopt;
  return std::max(fetch_.next, ends[before - entries]);
}

void Timing::fetch(int64_t now) {
  if (fetch_.handed_out == fetch_.read) {
    const auto most = static_cast<size_t>(config_.burst_bytes() / kCommandBytes);
    const size_t count = std::min(most, commands_->size() - fetch_.read);
    const int64_t bytes = static_cast<int64_t>(count) * kCommandBytes;
    fetch_.read += count;
    fetch_.next = bus_.read(now, bytes).end + kFetchDrainCycles;
    stats_.command_bytes += bytes;
    return;
  }
  const IssuedCommand& issued = (*commands_)[fetch_.handed_out++];
  const Engine engine = engine_of(issued.command);
  ++fetch_.handed_to[engine];
  engines_[engine].queue.push_back({&issued, now + kHandOutCycles});
  fetch_.next = now + 1;
  if (fetch_.handed_out == fetch_.read) fetch_.next += kFetchRequestCycles;
}

Timing::When Timing::engine_event(Engine engine) const {
  const EngineState& state = engines_[engine];
  if (state.transfer) return state.transfer->next;
  if (state.queue.empty()) return std::nullopt;
  int64_t when = std::max(state.free, state.queue.front().visible);
  for (int queue = 0; queue < kTokenQueues; ++queue) {
    if (!kQueues[queue].is_popped_by(state.queue.front().issued->command)) continue;
    if (tokens_[queue].empty()) return std::nullopt;
    when = std::max(when, tokens_[queue].front());
  }
  return when;
}

void Timing::start(Engine engine, int64_t now, const Run& run) {
  EngineState& state = engines_[engine];
  const Queued& head = state.queue.front();
  const Command& command = head.issued->command;
  stats_.token_wait_cycles[engine] += now - std::max(state.free, head.visible);
  for (int queue = 0; queue < kTokenQueues; ++queue) {
    if (kQueues[queue].is_popped_by(command)) tokens_[queue].pop_front();
  }
  state.free = now;
  run(*head.issued);
  if (command.is_transfer() && !command.is_tokens_only()) {
    // The load unit passes the lines of zeros before the data one a cycle.
    const int64_t first =
        command.opcode == kStore ? kStoreBeginCycles : kFirstRequestCycles + command.y_pad_before;
    state.transfer = Transfer{dram_lines(*head.issued, config_), now, now + first,
                              command.sram_rows() - command.y_size * command.x_size};
    return;
  }
  int64_t takes = kTokensOnlyCycles;
  if (command.opcode == kGemm) {
    takes = command.steps() + kPipelineCycles;
    stats_.gemm_steps += command.steps();
  } else if (command.opcode == kAlu) {
    const int64_t interval = command.use_immediate ? config_.alu_immediate_interval_cycles
                                                   : config_.alu_register_interval_cycles;
    takes = command.steps() * interval + kPipelineCycles;
    stats_.alu_steps += command.steps();
  }
  end_command(engine, now + takes);
}

int64_t Timing::Transfer::take_burst(int64_t most) {
  const int64_t address = lines.address(line) + done_of_line;
  const int64_t bytes = std::min(most - address % most, lines.line_bytes - done_of_line);
  done_of_line += bytes;
  if (done_of_line == lines.line_bytes) {
    done_of_line = 0;
    ++line;
  }
  return bytes;
}

void Timing::load_burst(Engine engine, Transfer& transfer) {
  const int64_t bytes = transfer.take_burst(config_.burst_bytes());
  const Bus::Read read = bus_.read(transfer.next, bytes);
  stats_.read_bytes += bytes;
  transfer.first_data = std::min(transfer.first_data, read.begin);
  transfer.next = read.issued + kRequestIntervalCycles;
  if (!transfer.is_done()) return;
  int64_t padding_end = transfer.begin + kPaddingBeginCycles + transfer.padding_rows;
  if (padding_end > transfer.first_data) {
    // What is left of it goes in between the data and behind them.
    padding_end += read.end - transfer.first_data;
  }
  end_command(engine, std::max(read.end + kLoadEndCycles, padding_end));
}

void Timing::store_burst(Engine engine, Transfer& transfer) {
  const int64_t bytes = transfer.take_burst(config_.burst_bytes());
  const int64_t row_bytes = config_.batch() * config_.block_out();
  // Between rows of more than a beat the buffer is read, in a cycle of its own.
  const int64_t reads = (bytes + row_bytes - 1) / row_bytes - 1;
  const int64_t begin = transfer.next + kBurstBeginCycles;
  transfer.next = bus_.write(begin, begin + bus_.beats(bytes) + reads, bytes) + kAcknowledgeCycles;
  stats_.written_bytes += bytes;
  if (transfer.is_done()) end_command(engine, transfer.next);
}

void Timing::end_command(Engine engine, int64_t end) {
  EngineState& state = engines_[engine];
  stats_.busy_cycles[engine] += end - state.free;
  state.transfer.reset();
  state.free = end;
  state.ends.push_back(end);
  for (int queue = 0; queue < kTokenQueues; ++queue) {
    if (kQueues[queue].is_pushed_by(state.queue.front().issued->command)) {
      tokens_[queue].push_back(end);
    }
  }
  state.queue.pop_front();
}

void Timing::check_all_ended() const {
  std::string heads;
  const IssuedCommand* first = nullptr;
  for (const EngineState& state : engines_) {
    if (state.queue.empty()) continue;
    const IssuedCommand* head = state.queue.front().issued;
    heads += (first == nullptr ? "" : ", ") + std::to_string(head->index) + " " +
             describe(head->command);
    if (first == nullptr || head->index < first->index) first = head;
  }
  if (first == nullptr) return;
  first->fail(sim::ErrorKind::kDeadlock, "needs a token, as do all engines; they wait at " + heads);
}

}  // namespace npu::vta
