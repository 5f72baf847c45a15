// How much work a launch asked for, apart from how long it took.
#pragma once

#include <cstdint>

#include "command.h"
#include "config.h"

namespace npu::sim {

// Counts what commands state, after the functional part has accepted them.
class Counters {
 public:
  void count(const Command& command);

  uint64_t commands = 0;
  uint64_t macs = 0;  // rows and cols of A x cols of B; none where B or the result is garbage
  uint64_t bytes_loaded = 0;  // from DRAM; zero fills load nothing
  uint64_t bytes_stored = 0;

 private:
  uint64_t store_bytes(const LocalOperand& from) const;

  bool is_load_shrunk_[3] = {};
  bool is_weight_stationary_ = true;
  uint64_t pooled_pixels_ = 0;  // 0: stores are not pooled
  int64_t result_cols_ = 0;     // of the last preload, 0 where it asked for no result
};

}  // namespace npu::sim
