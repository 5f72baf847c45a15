#include "gemmini/simulator/timing/timing.h"

#include <algorithm>
#include <optional>
#include <string>

#include "sim/error.h"

namespace npu::gemmini::timing {
namespace {

// Spans the loads under way can leave in a calendar, should none of them touch.
int64_t span_capacity(const Config& config) {
  const int64_t blocks = std::max<int64_t>(1, config.dma_request_bytes / config.dim);
  return 2 * config.loads_in_flight * config.dim * blocks;
}

constexpr unsigned bit_of(Queue queue) { return 1u << static_cast<int>(queue); }

const Config& checked(const Config& config) {
  config.check();
  return config;
}

}  // namespace

Timing::Timing(const Config& config)
    : config_(checked(config)),
      decoder_(config_),
      front_end_(config_),
      l2_(config_),
      code_(config_),
      spad_writes_(span_capacity(config_)),
      spad_reads_(2 * config_.ex_queue_entries),
      acc_reads_(span_capacity(config_)),
      acc_writes_(span_capacity(config_)),
      station_(config_),
      load_(config_, station_, l2_, spad_writes_, acc_reads_, acc_writes_),
      execute_(config_, station_, spad_writes_, spad_reads_, acc_reads_, acc_writes_),
      store_(config_, station_, l2_, spad_writes_, spad_reads_, acc_reads_),
      loops_(config_, station_) {}

uint64_t Timing::delay_code(uint32_t line, bool is_new, uint64_t host_cycles) {
  const Cycle at = front_end_.host_time() + static_cast<Cycle>(host_cycles);
  advance(at);
  return static_cast<uint64_t>(code_.delay(l2_, line, is_new, at));
}

Cycle Timing::enter_config(const Command& command, Cycle now) {
  return enter(OperationDecoder::queue_of(command), true, command, now);
}

Cycle Timing::take_loop(const Command& command, Cycle now) {
  if (!loops_.is_active()) now = unroll_before(command, now);
  if (Recorder* recorder = station_.recorder()) recorder->takes_loop(command, now);
  station_.will_be_asked_if_full();
  const std::optional<loops::Loop> loop = loops_.take(command, commands_ - 1, now);
  if (races_ != nullptr) races_->take_loop({command, commands_ - 1}, loop ? &*loop : nullptr);
  if (command.funct == kLoopWs || command.funct == kLoopConvWs) {
    LoopPlaces& places = command.funct == kLoopWs ? matmul_places_ : conv_places_;
    places.index[places.count++ % 4] = commands_ - 1;
  }
  next_loop_step_ = loops_.next_step();
  find_earliest_step();
  return now;
}

Cycle Timing::unroll_before(const Command& command, Cycle now) {
  advance(now);
  while (loops_.passes(command, now) >= kNever) {
    if (earliest_step_ >= kNever) fail_stuck("a loop before this command cannot go on");
    step(earliest_step_);
  }
  const Cycle arrived = now;
  now = loops_.passes(command, now);
  if (Recorder* recorder = station_.recorder()) {
    recorder->held(loops_.last_queue(command), arrived, now);
  }
  advance(now);
  return now;
}

void Timing::step_loops(Cycle now) {
  const LoopUnrollers::Issue issue = loops_.step(now);
  const Queue queue = OperationDecoder::queue_of(issue.command);
  station_.has_room(queue, now);  // lets go of what has completed
  const ReservationStation::Id id = station_.reserve(queue);
  decoder_.decode(issue.command, station_.operation(id));
  if (races_ != nullptr) {
    const LoopPlaces& places = issue.is_matmul ? matmul_places_ : conv_places_;
    races_->enter(queue, station_.operation(id), issue.command, places.index[issue.loop % 4]);
  }
  if (Recorder* recorder = station_.recorder()) {
    recorder->enters(id, station_.operation(id), issue.command, issue.enters,
                     issue.is_matmul ? Recorder::kMatmul : Recorder::kConv, issue.loop);
  }
  station_.enter(queue, issue.command.funct == kConfig, id, issue.enters);
  refresh(bit_of(queue));
}

void Timing::fail_stuck(const char* reason) const {
  throw sim::SimError(sim::ErrorKind::kTimedOut, commands_ - 1,
                      std::string("the device hangs: ") + reason +
                          "; issue what is waited for (say the COMPUTE of a PRELOAD) first");
}

uint64_t Timing::finish() {
  advance(kNever);
  // The hardware counts as idle with a PRELOAD whose COMPUTE has not come yet, and nothing else.
  if (station_.open_commands() > 1) {
    fail_stuck("a fence after this command waits for what waits for a command behind it");
  }
  const Cycle written = std::max(store_.last_acknowledged(), l2_.settle());
  const Cycle last = std::max(station_.last_completed(), written);
  const Cycle last_left = front_end_.last_left();
  const Cycle end = front_end_.fence(last);
  if (races_ != nullptr) races_->fence();
  if (Recorder* recorder = station_.recorder()) {
    recorder->fence(last_left, written, end);
  }
  return static_cast<uint64_t>(end);
}

Stats Timing::stats() const {
  Stats stats;
  stats.cycles = front_end_.host_time();
  stats.commands = commands_;
  stats.macs = execute_.macs();
  stats.bytes_loaded = load_.bytes_loaded();
  stats.bytes_stored = store_.bytes_stored();
  stats.l2_hits = l2_.hits();
  stats.l2_misses = l2_.misses();
  stats.memory_bytes_read = config_.l2_line_bytes * l2_.lines_read();
  stats.memory_bytes_written = config_.l2_line_bytes * l2_.lines_written();
  stats.array_busy_cycles = execute_.busy_cycles();
  stats.bank_conflict_cycles = execute_.conflict_cycles();
  stats.host_stall_cycles = front_end_.stall_cycles();
  return stats;
}

void Timing::step(Cycle now) {
  if (next_step_[static_cast<int>(Queue::kLoad)] == now) {
    acc_writes_.expire(now);
    load_.step(now);
    refresh(bit_of(Queue::kLoad));
  } else if (next_step_[static_cast<int>(Queue::kExecute)] == now) {
    step_execute(now);
  } else if (next_step_[static_cast<int>(Queue::kStore)] == now) {
    spad_writes_.expire(now);
    spad_reads_.expire(now);
    acc_reads_.expire(now);
    store_.step(now);
    refresh(bit_of(Queue::kStore));
  } else {
    step_loops(now);
  }
}

void Timing::step_execute(Cycle now) {
  spad_writes_.expire(now);
  execute_.step(now);
  next_step_[static_cast<int>(Queue::kExecute)] = execute_.next_step();
  find_earliest_step();
  refresh(0);
}

void Timing::refresh_queues(unsigned queues) {
  station_.forget_issued_queues();
  if ((queues & bit_of(Queue::kLoad)) != 0) {
    next_step_[static_cast<int>(Queue::kLoad)] = load_.next_step();
  }
  if ((queues & bit_of(Queue::kExecute)) != 0) {
    next_step_[static_cast<int>(Queue::kExecute)] = execute_.next_step();
  }
  if ((queues & bit_of(Queue::kStore)) != 0) {
    next_step_[static_cast<int>(Queue::kStore)] = store_.next_step();
  }
  // Any completion may make room for an unroller's command.
  next_loop_step_ = loops_.is_active() ? loops_.next_step() : kNever;
  find_earliest_step();
}

}  // namespace npu::gemmini::timing
