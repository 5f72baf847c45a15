#include "gemmini/simulator/races/unsettled_rows.h"

#include <algorithm>
#include <utility>

namespace npu::gemmini::races {

void UnsettledRows::write(const LoadOrder& order, const Load& load) {
  const Load* other = order.unordered_with(load);
  if (other == nullptr && is_empty()) return;
  if (other != nullptr) {
    if (loads_.size() >= most_loads_) forget_old_loads();
    loads_.push_back({other->name, load.name});
  }
  for (int64_t i = 0; i < load.blocks; ++i) {
    for (int64_t row = load.block(i).start; row < load.block(i).end; ++row) {
      int32_t& loads = loads_of_row_[static_cast<size_t>(row)];
      count_ -= loads != 0;
      if (order.is_unordered(row, load.accumulates)) {
        loads = static_cast<int32_t>(loads_.size());
      } else if (!load.accumulates) {
        loads = 0;
      }
      count_ += loads != 0;
    }
  }
}

void UnsettledRows::settle(const Span& rows, int64_t step) {
  for (int64_t row = rows.start; row < rows.end; row += step) {
    int32_t& loads = loads_of_row_[static_cast<size_t>(row)];
    count_ -= loads != 0;
    loads = 0;
  }
}

std::optional<UnsettledRows::Found> UnsettledRows::find(const Span& rows, int64_t step) const {
  for (int64_t row = rows.start; row < rows.end; row += step) {
    const int32_t loads = loads_of_row_[static_cast<size_t>(row)];
    if (loads != 0) return Found{row, loads_[static_cast<size_t>(loads - 1)]};
  }
  return std::nullopt;
}

void UnsettledRows::forget_old_loads() {
  std::vector<Loads> kept;
  std::vector<int32_t> places(loads_.size() + 1, 0);
  for (int64_t row = 0; row < rows_; ++row) {
    int32_t& loads = loads_of_row_[static_cast<size_t>(row)];
    if (loads == 0) continue;
    int32_t& place = places[static_cast<size_t>(loads)];
    if (place == 0) {
      kept.push_back(loads_[static_cast<size_t>(loads - 1)]);
      place = static_cast<int32_t>(kept.size());
    }
    loads = place;
  }
  loads_ = std::move(kept);
  most_loads_ = std::max(kFewLoads, 2 * loads_.size());
}

}  // namespace npu::gemmini::races
