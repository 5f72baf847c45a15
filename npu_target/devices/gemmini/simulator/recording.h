// A recorder, and what it records in the form that the simulators of all kinds hand out.
#pragma once

#include <string>

#include "gemmini/simulator/timing/recorder.h"
#include "sim/simulator.h"

namespace npu::gemmini {

// Slices are packed as little-endian words of 64 bits, in the order of timing::Slice's members as
// npu_target/sim/timeline.py names them.
class Recording {
 public:
  explicit Recording(sim::Recording wanted);

  timing::Recorder& recorder() { return recorder_; }
  // Hands out the slices that are kept back so far.
  void flush();
  // Cycles by reason, and commands by kind (Recorder::kind_of) that the host issued and that loops
  // came to.
  sim::Profile profile() const;

 private:
  void add(const timing::Slice& slice);
  void add(int64_t word);

  static constexpr size_t kFlushBytes = size_t{1} << 19;
  const sim::Recording wanted_;
  std::string bytes_;
  timing::Recorder recorder_;
};

}  // namespace npu::gemmini
