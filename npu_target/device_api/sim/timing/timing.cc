#include "timing.h"

#include <algorithm>
#include <string>

#include "error.h"

namespace npu::sim::timing {
namespace {

// Spans the loads under way can leave in a calendar, should none of them touch.
int64_t span_capacity(const Config& config) {
  const int64_t blocks = std::max<int64_t>(1, config.dma_request_bytes / config.dim);
  return 2 * config.loads_in_flight * config.dim * blocks;
}

constexpr int64_t kMaxBanks = 64;

const Config& checked(const Config& config) {
  if (config.spad_banks > kMaxBanks || config.acc_banks > kMaxBanks) {
    throw SimError(ErrorKind::kBadProgram, -1,
                   "device config: spad_banks is " + std::to_string(config.spad_banks) +
                       " and acc_banks " + std::to_string(config.acc_banks) +
                       ", must be at most " + std::to_string(kMaxBanks));
  }
  return config;
}

}  // namespace

Timing::Timing(const Config& config)
    : config_(checked(config)),
      decoder_(config_),
      front_end_(config_),
      l2_(config_),
      spad_writes_(span_capacity(config_)),
      spad_reads_(2 * config_.ex_queue_entries),
      acc_reads_(span_capacity(config_)),
      station_(config_),
      load_(config_, station_, l2_, spad_writes_, acc_reads_),
      execute_(config_, station_, spad_writes_, spad_reads_, acc_reads_),
      store_(config_, station_, l2_, spad_writes_, spad_reads_, acc_reads_) {}

void Timing::issue(const Command& command, uint32_t host_cycles) {
  ++commands_;
  Cycle now = front_end_.issue(host_cycles);
  decoder_.decode(command, operation_);
  if (operation_.queue != Queue::kFront) {
    advance(now);
    while (!station_.has_room(operation_.queue, now)) {
      // A step that begins before the next known release may bring an earlier one.
      const Cycle release = station_.next_release(operation_.queue);
      if (step_before(release)) continue;
      if (release >= kNever) fail_stuck();
      now = release;
      advance(now);
    }
    station_.allocate(operation_, now);
  }
  front_end_.leave(now);
}

void Timing::fail_stuck() const {
  throw SimError(ErrorKind::kTimedOut, commands_ - 1,
                 "the device hangs: every entry of this command's queue waits for a command "
                 "behind it; issue what they wait for (say the COMPUTE of a PRELOAD) before it");
}

uint64_t Timing::finish() {
  advance(kNever);
  const Cycle last = std::max(station_.last_completed(), store_.last_acknowledged());
  return static_cast<uint64_t>(front_end_.fence(last));
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
  stats.array_busy_cycles = execute_.busy_cycles();
  stats.bank_conflict_cycles = execute_.conflict_cycles();
  stats.host_stall_cycles = front_end_.stall_cycles();
  return stats;
}

void Timing::advance(Cycle until) {
  while (step_before(until)) {
  }
}

bool Timing::step_before(Cycle until) {
  const Cycle load = load_.next_step();
  const Cycle execute = execute_.next_step();
  const Cycle store = store_.next_step();
  const Cycle next = std::min({load, execute, store});
  if (next >= until) return false;
  spad_writes_.expire(next);
  spad_reads_.expire(next);
  acc_reads_.expire(next);
  if (load == next) {
    load_.step(next);
  } else if (execute == next) {
    execute_.step(next);
  } else {
    store_.step(next);
  }
  return true;
}

}  // namespace npu::sim::timing
