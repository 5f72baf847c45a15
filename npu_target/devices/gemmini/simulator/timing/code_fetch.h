// The host's code, which comes through the L2.
#pragma once

#include <cstdint>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/l2.h"

namespace npu::gemmini::timing {

// Policy (ICache.scala): a line at a time, by a request to the L2 like any other, and the core goes
// on when all of it is there. The code lies in memory by itself. Of a line longer than the L2's the
// first of its requests counts.
class CodeFetch {
 public:
  explicit CodeFetch(const Config& config);

  // The core asks `l2` for a line of the code, the first time if it is new, at `at`. Returns the
  // cycles that it waits longer than with nobody else under way, in the L2 or behind it.
  Cycle delay(L2& l2, uint32_t line, bool is_new, Cycle at) const;

 private:
  const int64_t line_bytes_;
  const int64_t request_bytes_;
  Cycle memory_cycles_;  // of a line from memory with nobody else under way
  Cycle l2_cycles_;      // the same of one that the L2 has
};

}  // namespace npu::gemmini::timing
