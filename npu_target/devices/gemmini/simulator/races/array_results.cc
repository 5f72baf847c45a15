#include "gemmini/simulator/races/array_results.h"

#include <algorithm>

namespace npu::gemmini::races {

const ArrayResult* ArrayResults::read(const Operand (&operands)[3], int32_t now) {
  const auto is_written = [&](const ArrayResult& result) {
    return result.time + commands_under_way_ < now ||
           std::any_of(
               std::begin(operands), std::end(operands),
               [&](const Operand& operand) { return operand.address == result.address; });
  };
  const auto last_written = std::find_if(results_.rbegin(), results_.rend(), is_written).base();
  results_.erase(results_.begin(), last_written);
  for (const ArrayResult& result : results_) {
    for (const Operand& operand : operands) {
      if (!operand.rows.is_empty() && operand.rows.overlaps(result.rows)) return &result;
    }
  }
  return nullptr;
}

}  // namespace npu::gemmini::races
