// Which rows of the memories a command reads and writes.
#pragma once

#include <array>

#include "gemmini/simulator/timing/operation.h"
#include "gemmini/simulator/timing/row_range.h"

namespace npu::gemmini::timing {

// Rows that are added to are read and written.
struct TouchedRows {
  std::array<RowRange, 2> reads;
  RowRange writes;
};

// As the reservation station compares them, but of a pooling MVOUT the rows that its windows reach.
inline TouchedRows touched_rows(const Operation& operation) {
  TouchedRows rows;
  if (operation.is_config) return rows;
  switch (operation.queue) {
    case Queue::kLoad:
      rows.writes = operation.first;
      if (operation.load.accumulates) rows.reads[0] = operation.first;
      break;
    case Queue::kExecute:
      if (operation.execute.kind == ExecuteKind::kPreload) {
        rows.reads[0] = operation.second;
        rows.writes = operation.first;
        if (operation.execute.accumulates) rows.reads[1] = operation.first;
      } else {
        rows.reads = {operation.first, operation.second};
      }
      break;
    case Queue::kStore:
      rows.reads[0] = operation.first;
      if (operation.store.pool_stride != 0) {
        rows.reads[0].end = operation.first.start + operation.store.pooled_rows();
      }
      break;
    case Queue::kFront:
      break;
  }
  return rows;
}

}  // namespace npu::gemmini::timing
