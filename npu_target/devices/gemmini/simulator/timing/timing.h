// The cycle model of the device.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemmini/simulator/command.h"
#include "gemmini/simulator/config.h"
#include "gemmini/simulator/races/race_checker.h"
#include "gemmini/simulator/timing/code_fetch.h"
#include "gemmini/simulator/timing/execute.h"
#include "gemmini/simulator/timing/front_end.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/l2.h"
#include "gemmini/simulator/timing/load.h"
#include "gemmini/simulator/timing/loop_unrollers.h"
#include "gemmini/simulator/timing/operation.h"
#include "gemmini/simulator/timing/operation_decoder.h"
#include "gemmini/simulator/timing/ports.h"
#include "gemmini/simulator/timing/recorder.h"
#include "gemmini/simulator/timing/reservation_station.h"
#include "gemmini/simulator/timing/store.h"

namespace npu::gemmini::timing {

// What a run cost. All cycles count from the construction of the model.
struct Stats {
  int64_t cycles = 0;
  int64_t commands = 0;
  int64_t macs = 0;
  int64_t bytes_loaded = 0;  // asked for by MVINs that read memory
  int64_t bytes_stored = 0;
  int64_t l2_hits = 0;  // requests
  int64_t l2_misses = 0;
  int64_t memory_bytes_read = 0;  // lines over the bus behind the L2, the host's code among them
  int64_t memory_bytes_written = 0;
  int64_t array_busy_cycles = 0;
  int64_t bank_conflict_cycles = 0;  // of the busy ones, lost to taken scratchpad ports
  int64_t host_stall_cycles = 0;     // the host waited for room in the queues
};

// How long a stream of commands takes, unit by unit, in the hardware's own structure. It knows no
// values; the caller has checked that the device can run the commands.
//
// Policy: event-driven per command. Commands enter in program order; before one enters at cycle t,
// every unit runs the steps that begin before t, the earliest first. A step costs work in the
// number of rows it moves, none in the cycles that pass. The model is deterministic.
//
// Caches start cold and keep what they hold from one fence to the next.
class Timing {
 public:
  // Throws SimError bad_program for a device beyond the model's limits.
  explicit Timing(const Config& config);
  Timing(const Timing&) = delete;
  Timing& operator=(const Timing&) = delete;

  // Tells `recorder`, which has to outlive this object, of what follows; to be called first.
  void record(Recorder* recorder) { station_.set_recorder(recorder); }

  // Lets `races`, which has to outlive this object, refuse what follows; null for nobody.
  void check_races(races::RaceChecker* races) { races_ = races; }

  // The host spends `host_cycles` on the next command, then issues it. Throws SimError timed_out
  // when the queues are full of commands that wait for one behind them: the hardware would hang;
  // for LOOP_* also what MatmulLoop::decode and ConvLoop::decode throw.
  NPU_INLINE void issue(const Command& command, uint32_t host_cycles);

  // The host fetches a line of its code from the L2, `host_cycles` after the last command; it has
  // fetched it before or not. Returns the cycles that it waits longer than if it were alone.
  uint64_t delay_code(uint32_t line, bool is_new, uint64_t host_cycles);

  // The host fences. Returns the cycles since the construction. Throws SimError timed_out when
  // what it waits for cannot end.
  uint64_t finish();

  // Issued so far.
  int64_t commands() const { return commands_; }

  // A lower bound of what finish() would return, cheap to ask for at any command.
  uint64_t elapsed() const { return static_cast<uint64_t>(front_end_.host_time()); }

  // Of what has been issued before the last finish().
  Stats stats() const;

 private:
  // Runs every step that begins before `until`.
  void advance(Cycle until) {
    while (earliest_step_ < until) step(earliest_step_);
  }
  void step(Cycle now);
  // Asks units again for their next step: those that have just run (a bit each), and
  // those with new commands.
  NPU_INLINE void refresh(unsigned stepped) {
    const unsigned queues = station_.issued_queues() | stepped;
    if (rarely(queues != 0 || loops_.is_active())) refresh_queues(queues);
  }
  NPU_RARE void refresh_queues(unsigned queues);
  void find_earliest_step() {
    earliest_step_ =
        std::min(std::min(next_step_[0], next_step_[1]), std::min(next_step_[2], next_loop_step_));
  }
  void step_execute(Cycle now);
  // The host's command enters its queue, in cycle `now` if there is room. Returns when.
  NPU_INLINE Cycle enter(Queue queue, bool is_config, const Command& command, Cycle now);
  NPU_RARE Cycle enter_config(const Command& command, Cycle now);
  // Runs steps until a command of `queue`, which is full, finds an entry. Returns when.
  NPU_INLINE Cycle wait_for_room(Queue queue, Cycle now);
  // Unrolls loops until the command may pass the unrollers, from cycle `now` on. Returns when.
  NPU_RARE Cycle unroll_before(const Command& command, Cycle now);
  // An unroller issues its next command.
  NPU_RARE void step_loops(Cycle now);
  // The unrollers take a command of a loop. Returns when.
  NPU_RARE Cycle take_loop(const Command& command, Cycle now);
  [[noreturn]] void fail_stuck(const char* reason) const;

  const Config config_;
  OperationDecoder decoder_;
  FrontEnd front_end_;
  L2 l2_;
  const CodeFetch code_;
  PortCalendar spad_writes_;
  PortCalendar spad_reads_;
  PortCalendar acc_reads_;
  PortCalendar acc_writes_;
  ReservationStation station_;
  LoadUnit load_;
  ExecuteUnit execute_;
  StoreUnit store_;
  LoopUnrollers loops_;
  Cycle next_step_[kQueues] = {kNever, kNever, kNever};  // of the units, by queue
  Cycle next_loop_step_ = kNever;                        // of the unrollers
  Cycle earliest_step_ = kNever;                         // of all of them
  int64_t commands_ = 0;
  races::RaceChecker* races_ = nullptr;
  // By kind of loop, of which two each are under way: their places in the stream.
  struct LoopPlaces {
    int64_t count = 0;
    int64_t index[4] = {};
  };
  LoopPlaces matmul_places_;
  LoopPlaces conv_places_;
};

void Timing::issue(const Command& command, uint32_t host_cycles) {
  ++commands_;
  const Cycle host_time = front_end_.host_time();
  Cycle now = front_end_.issue(host_cycles);
  if (Recorder* recorder = station_.recorder()) {
    recorder->host(command, host_time, host_time + host_cycles, front_end_.host_time());
  }
  if (rarely(loops_.is_active())) now = unroll_before(command, now);
  // A case each, so that each has its queue for a constant.
  switch (OperationDecoder::queue_of(command.funct)) {
    case Queue::kExecute:
      now = enter(Queue::kExecute, false, command, now);
      break;
    case Queue::kLoad:
      now = enter(Queue::kLoad, false, command, now);
      break;
    case Queue::kStore:
      now = enter(Queue::kStore, false, command, now);
      break;
    case Queue::kFront:
      if (command.funct == kConfig) now = enter_config(command, now);
      if (is_loop_command(command.funct)) now = take_loop(command, now);
      break;
  }
  front_end_.leave(now);
}

Cycle Timing::enter(Queue queue, bool is_config, const Command& command, Cycle now) {
  advance(now);
  const Cycle arrived = now;
  if (!station_.has_room(queue, now)) now = wait_for_room(queue, now);
  const ReservationStation::Id id = station_.reserve(queue);
  decoder_.decode(queue, is_config, command, station_.operation(id));
  if (races_ != nullptr) races_->enter(queue, station_.operation(id), command, commands_ - 1);
  if (Recorder* recorder = station_.recorder()) {
    recorder->held(queue, arrived, now);
    recorder->enters(id, station_.operation(id), command, now);
  }
  station_.enter(queue, is_config, id, now);
  refresh(0);
  return now;
}

Cycle Timing::wait_for_room(Queue queue, Cycle now) {
  // A step that begins before the next known release may bring an earlier one.
  Cycle release = station_.next_release(queue);
  while (earliest_step_ < release && now < release) {
    step(earliest_step_);
    release = station_.next_release(queue);
  }
  if (rarely(release >= kNever)) {
    fail_stuck("every entry of this command's queue waits for a command behind it");
  }
  now = std::max(now, release);
  station_.has_room(queue, now);  // lets go of what has completed
  return now;
}

}  // namespace npu::gemmini::timing

namespace npu::gemmini {
using timing::Timing;
}  // namespace npu::gemmini
