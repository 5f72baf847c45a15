// The L2's data pipeline.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/stages.h"
#include "gemmini/simulator/timing/turns.h"

namespace npu::gemmini::timing {

// Policy (SourceD.scala, BankedStore.scala): a beat per cycle, reads and writes in turns, in the
// order in which their data are there: what is ready overtakes what waits for memory, and never
// waits for what is not there yet, which comes the later for it. A reader that does not take its
// data keeps everybody waiting. Others may pass between the beats of a line that comes in, up to
// kL2OverlapTicks.
class DataPipeline {
 public:
  // Of a line on the bus to memory; and how far a reader that is behind lets requests pile up.
  DataPipeline(Cycle line_cycles, Ticks most_ahead)
      : line_ticks_(to_ticks(line_cycles)), most_ahead_(most_ahead) {}

  // Data for a reader.
  struct Read {
    Cycle ready;  // the first beat, if all goes well
    Cycle taken;  // by the reader, from then on
    int64_t beats;
    Ticks duration;  // of the pipeline that it takes
    Cycle arrived;   // not before then it has passed all, 0 if it need not wait for any
  };
  // Returns the cycle after its last beat.
  NPU_INLINE Cycle pass_read(const Read& read);
  // A read that waits for nobody but those before it. Returns the cycle of its first beat.
  NPU_INLINE Cycle pass_next_read(Cycle ready, int64_t beats) {
    const Ticks start = std::max(to_ticks(ready), turns_.end());
    turns_.take_last(start, start + beats * (kTicksPerCycle + kL2ReadGapTicks));
    return cycle_of(start);
  }
  // Data to be written, the first beat ready at `ready`. Returns the cycle after the last.
  NPU_INLINE Cycle pass_write(Cycle ready, Ticks duration, Cycle arrived);

 private:
  const Ticks line_ticks_;
  const Ticks most_ahead_;
  Turns turns_{kTicksPerCycle};  // in ticks
  Ticks blocked_ = 0;            // that it lost to a reader, of the last
};

Cycle DataPipeline::pass_read(const Read& read) {
  const Ticks ready = to_ticks(read.ready);
  // Not where the reader is behind: it takes data in their order.
  if (read.arrived == 0 && ready < turns_.end() &&
      to_ticks(read.taken) <= turns_.end() + to_ticks(kMergerLossCycles)) {
    const Ticks start = turns_.begin_in_gap(ready, read.duration, kL2OverlapTicks);
    if (start != Turns::kNone) return cycle_of(start + read.duration);
  }
  // Lines came in while the pipeline stood still for a reader: that cost nothing.
  const Ticks hidden = std::min(blocked_, read.duration - to_ticks(read.beats));
  blocked_ -= hidden;
  const Ticks start = std::max(ready, turns_.end());
  const Ticks passed = std::max(start + read.duration - hidden, to_ticks(read.arrived));
  const Ticks end = std::max(passed, to_ticks(read.taken + read.beats));
  turns_.take_last(start, end);
  blocked_ = std::min(blocked_ + end - passed, most_ahead_);
  return cycle_of(end);
}

Cycle DataPipeline::pass_write(Cycle ready_cycle, Ticks duration, Cycle arrived) {
  const Ticks ready = to_ticks(ready_cycle);
  if (rarely(ready < turns_.end() && arrived == 0)) {
    const Ticks start = turns_.begin_in_gap(ready, duration, kL2OverlapTicks);
    if (start != Turns::kNone) return cycle_of(start + duration);
  }
  // Reads and writes take turns: a write does not wait for all the reads that are under way, which
  // come the later for it.
  const Ticks start = std::max(ready, std::min(turns_.end(), ready + line_ticks_));
  const Ticks end = std::max(start + duration, to_ticks(arrived));
  turns_.take_last(std::max(start, turns_.end()), std::max(turns_.end() + duration, end));
  return cycle_of(end);
}

}  // namespace npu::gemmini::timing
