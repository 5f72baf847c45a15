// Where the cycles of a run went, seen from the array.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gemmini/simulator/timing/cycle.h"

namespace npu::gemmini::timing {

enum class Reason : uint8_t {
  kArrayBusy,     // the array takes in a row
  kLoads,         // its next command waits for a load
  kStores,        // or for a store
  kBankConflict,  // it could take in a row, but a scratchpad bank it reads is taken
  kDependency,    // its next command waits for the array itself
  kHostIssue,     // its next command has not come yet
  kDrain,         // nothing more will come: results and the fence on their way
};
inline constexpr int kReasons = 7;

// Gives every cycle from `begin` on to exactly one reason: a cursor that only moves forward.
class Accounting {
 public:
  using Breakdown = std::array<Cycle, kReasons>;

  void begin(Cycle start) {
    cursor_ = start;
    cycles_.fill(0);
  }
  // The first cycle that has no reason yet.
  Cycle cursor() const { return cursor_; }
  // Cycles that have none yet, up to `end`, are due to `reason`. Returns how many.
  Cycle until(Reason reason, Cycle end) {
    if (end <= cursor_) return 0;
    const Cycle count = end - cursor_;
    cycles_[static_cast<size_t>(reason)] += count;
    cursor_ = end;
    return count;
  }
  // The next cycles up to `end` are those of a run of the array that takes in `rows` rows.
  void run(Cycle rows, Cycle end) {
    const Cycle conflicts = end - cursor_ - rows;
    cycles_[static_cast<size_t>(Reason::kArrayBusy)] += rows;
    cycles_[static_cast<size_t>(Reason::kBankConflict)] += conflicts;
    cursor_ = end;
  }
  const Breakdown& cycles() const { return cycles_; }

 private:
  Breakdown cycles_{};
  Cycle cursor_ = 0;
};

}  // namespace npu::gemmini::timing
