// What a recorder tells of single commands, for a timeline.
#pragma once

#include <cstdint>
#include <functional>

#include "gemmini/simulator/command.h"
#include "gemmini/simulator/timing/accounting.h"
#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/operation.h"
#include "gemmini/simulator/timing/touched_rows.h"

namespace npu::gemmini::timing {

enum class Lane : uint8_t { kHost, kLoad, kExecute, kPreload, kStore, kDmaRead, kDmaWrite, kArray };

// Something that took the cycles [start, end).
struct Slice {
  Lane lane;
  Cycle start;
  Cycle end;

  // All lanes but kArray: the command, and the place of the host's command it is or comes from.
  Command command{};
  int64_t index = -1;

  // Commands of the reservation station. `waited_for`: whose completion let it go last, kFront if
  // it waited for nobody, and that command's index.
  Cycle entered = -1;
  Cycle ready = -1;
  Cycle issued = -1;
  Cycle completed = -1;
  Queue waited_for = Queue::kFront;
  int64_t waited_for_index = -1;
  TouchedRows rows{};

  // kArray.
  Reason reason = Reason::kArrayBusy;
  // kHost: of these cycles, those that waited for room; kArray: those lost to bank conflicts.
  Cycle lost = 0;
};

using SliceSink = std::function<void(const Slice&)>;

}  // namespace npu::gemmini::timing
