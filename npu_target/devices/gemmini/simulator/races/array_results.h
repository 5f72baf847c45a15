// Results of the array in the scratchpad, which the array may read again.
#pragma once

#include <cstdint>
#include <vector>

#include "gemmini/simulator/races/race.h"
#include "gemmini/simulator/races/row_times.h"

namespace npu::gemmini::races {

// What a PRELOAD's COMPUTE writes.
struct ArrayResult {
  Named preload;
  Span rows;
  uint32_t address;
  int32_t time;  // of the PRELOAD, in commands of the array
};

// Policy (ExecuteController.scala, raw_hazard_pre and raw_hazard_mulpre): before the array takes in
// a pair of PRELOAD and COMPUTE, it waits for results under way that begin at the very row at which
// one of the pair's operands begins. It does not look at any other row. Results are written in
// order, and only so many are under way.
class ArrayResults {
 public:
  struct Operand {
    Span rows;
    uint32_t address = 0;
  };

  explicit ArrayResults(int64_t mesh_tag_queue_entries)
      // A PRELOAD and a COMPUTE each, and those whose operands are being read.
      : commands_under_way_(static_cast<int32_t>(2 * (mesh_tag_queue_entries + 1))) {}

  bool is_empty() const { return results_.empty(); }
  void add(const ArrayResult& result) { results_.push_back(result); }
  void clear() { results_.clear(); }

  // The array takes in a pair with these operands. Returns a result that they read and that may not
  // be written yet, null if there is none.
  const ArrayResult* read(const Operand (&operands)[3], int32_t now);

 private:
  int32_t commands_under_way_;
  std::vector<ArrayResult> results_;  // that may not be written yet
};

}  // namespace npu::gemmini::races
