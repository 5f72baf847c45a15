#include "gemmini/simulator/timing/data_pipeline.h"

namespace npu::gemmini::timing {

Cycle DataPipeline::pass_read(const Read& read) {
  const Ticks ready = to_ticks(read.ready);
  // Not where the reader is behind: it takes data in their order.
  if (read.arrived == 0 && ready < turns_.end() &&
      to_ticks(read.taken) <= turns_.end() + to_ticks(kMergerLossCycles)) {
    const Ticks start = turns_.take_gap(ready, read.duration, kL2OverlapTicks);
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

}  // namespace npu::gemmini::timing
