// What happened in a run, for those who ask: where the cycles went, and a timeline.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "gemmini/simulator/command.h"
#include "gemmini/simulator/timing/accounting.h"
#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/operation.h"
#include "gemmini/simulator/timing/timeline.h"

namespace npu::gemmini::timing {

// The units tell a recorder what they do, if they have one; it never changes what they do.
//
// Policy: each cycle in which the array takes in no row belongs to the oldest command that its next
// run needs. Before that command is in the reservation station the host has to issue it, unless a
// command on the way there is held up by a full queue: then what the queue is full of. Inside, it
// waits for loads that it depends on, then for stores, then for the array itself (results on their
// way, its tag queue, a draining CONFIG_EX). A loop's command that its unroller keeps back waits
// for loads. After the array's last run and the host's last command a cycle belongs to the oldest
// command that is not complete.
class Recorder {
 public:
  using Id = int64_t;

  // With a `sink`, slices that touch the cycles [from, to) go there, each when its end is known.
  explicit Recorder(SliceSink sink = nullptr, Cycle from = 0, Cycle to = kNever);
  // Slices count their cycles from `origin`, of which the run before it makes none.
  void set_origin(Cycle origin) { origin_ = origin; }

  // The reasons of the cycles between the last two fences, or since the start.
  const Accounting::Breakdown& breakdown() const { return finished_; }
  // Commands between them by kind (see kind_of): those the host issued, those loops came to.
  static constexpr int kKinds = 132;
  using Counts = std::array<int64_t, kKinds>;
  const Counts& issued() const { return finished_issued_; }
  const Counts& unrolled() const { return finished_unrolled_; }
  // The funct, for configurations 128 + what rs1 says.
  static int kind_of(const Command& command);

  enum Unroller { kMatmul, kConv };

  // The host handed over a command: it worked in [from, wanted), then waited until `to`.
  void host(const Command& command, Cycle from, Cycle wanted, Cycle to);
  // The front end held up the host's latest command in [from, to): `queue` was full, or loops
  // were not through with it.
  void held(Queue queue, Cycle from, Cycle to);
  // The unrollers take the host's latest command, of a loop, in cycle `now`.
  void takes_loop(const Command& command, Cycle now);
  // A command is about to enter the reservation station: the host's latest, or the next of the
  // loop of this number.
  void enters(Id id, const Operation& operation, const Command& command, Cycle now);
  void enters(Id id, const Operation& operation, const Command& command, Cycle now,
              Unroller unroller, int64_t loop);
  // It waited for another one, which completes in cycle `when`.
  void waited(Id id, Id for_id, Cycle when);
  void completes(Id id, Cycle issued, Cycle when);

  // Before it completes: its unit worked on it in [from, to), the DMA moved its data in such a
  // span.
  void works(Id id, Cycle from, Cycle to);
  void transfers(Id id, Cycle from, Cycle to);

  // The array starts on `head` in cycle `start`; `follower`, if there is one, had to be there too.
  void starts_run(Id head, Id follower, Cycle start);
  // Its rows went in, the last before cycle `end`; `compute` or `preload` may be none.
  void ends_run(Id compute, Id preload, Cycle start, Cycle rows, Cycle end);
  // The second pass of weights that are transposed.
  void second_pass(Cycle start, Cycle end);

  // The host's fence returns in cycle `end`; its last command left the front end in cycle
  // `last_left`, memory acknowledged the last store in `last_acknowledged`.
  void fence(Cycle last_left, Cycle last_acknowledged, Cycle end);

 private:
  struct Entry {
    int64_t sequence = -1;
    int64_t index = -1;
    Command command{};
    Queue queue = Queue::kFront;
    TouchedRows rows{};
    Cycle entered = 0;
    // From when on only the unroller kept it back; `entered` for a command of the host.
    Cycle held_back_from = 0;
    // The first cycle after the commands of each queue that it depends on.
    std::array<Cycle, kQueues> released{};
    Queue waited_for = Queue::kFront;
    int64_t waited_for_index = -1;
    Cycle issued = kNever;
    Cycle completed = kNever;
    Lane lane = Lane::kLoad;
    Cycle from = kNever;  // its unit worked on it
    Cycle to = kNever;
    Cycle dma_from = kNever;
    Cycle dma_to = kNever;
  };
  struct Hold {
    Cycle from;
    Cycle to;
    Reason reason;
  };
  struct Loop {
    int64_t index;
    Cycle started;
  };

  Entry& entry(Id id) { return entries_[static_cast<size_t>(id)]; }
  void enter(Id id, const Operation& operation, const Command& command, Cycle now);
  // Cycles before the array's next command is there.
  void wait_for_host(Cycle until);
  void wait_for(const Entry& entry);
  void account(Reason reason, Cycle until);
  void emit(Slice slice) const;
  static Slice slice_of(const Entry& entry, Lane lane, Cycle start, Cycle end);

  const SliceSink sink_;
  const Cycle from_;
  const Cycle to_;
  Cycle origin_ = 0;
  Accounting accounting_;
  Accounting::Breakdown finished_{};
  Counts issued_{};
  Counts unrolled_{};
  Counts finished_issued_{};
  Counts finished_unrolled_{};
  std::vector<Entry> entries_;  // by entry of the reservation station
  std::deque<Hold> holds_;      // those that no run came after
  std::array<std::array<Loop, 4>, 2> loops_{};
  std::array<int64_t, 2> loop_counts_{};
  int64_t index_ = -1;  // of the host's latest command since the fence
  int64_t sequence_ = 0;
};

}  // namespace npu::gemmini::timing
