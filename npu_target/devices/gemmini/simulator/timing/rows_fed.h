// How many rows a run of the array takes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/operation.h"

namespace npu::gemmini::timing {

// Of a COMPUTE, a PRELOAD, or both beside each other; null for the one that is not there.
inline int64_t rows_fed(const ExecuteOperation* compute, const ExecuteOperation* preload,
                        int64_t dim) {
  const bool feeds_new = preload != nullptr && !preload->first.is_garbage();
  if (feeds_new || (compute != nullptr ? compute : preload)->mode.takes_all_rows) return dim;
  int64_t rows = kLeastRowsFed;
  if (compute != nullptr) {
    if (!compute->first.is_garbage()) rows = std::max(rows, compute->first.rows());
    if (!compute->second.is_garbage()) rows = std::max(rows, compute->second.rows());
  }
  return rows;
}

}  // namespace npu::gemmini::timing
