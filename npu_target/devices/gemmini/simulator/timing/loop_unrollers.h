// The two loop unrollers, between the front end and the reservation station.
#pragma once

#include <optional>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/loops/registers.h"
#include "gemmini/simulator/timing/loop_conv.h"
#include "gemmini/simulator/timing/loop_matmul.h"
#include "gemmini/simulator/timing/reservation_station.h"

namespace npu::gemmini::timing {

// Policy (Controller.scala): commands pass the unroller of convolutions, then that of matrix
// multiplications, each behind a queue, and then a last queue. A command that is not of an
// unroller's own loop waits before it until it is through with all of its loops; so does one that
// configures a loop until a set of registers is free.
class LoopUnrollers {
 public:
  // Both must outlive this object.
  LoopUnrollers(const Config& config, const ReservationStation& station);

  // Whether loops have been taken that are not known to be over.
  bool is_active() const {
    return has_taken_ && (matmul_.turns().is_active() || conv_.turns().is_active());
  }

  // The first cycle from `now` on in which the command may go on to the reservation station (or
  // would, if it is of a loop); kNever while that is not known.
  Cycle passes(const Command& command, Cycle now) const;
  // The queue of the unit that was through with the loops before the command last.
  Queue last_queue(const Command& command) const;
  // Takes a loop command that passes in cycle `now`. Returns the loop if it starts one. Throws
  // SimError if the device cannot run it.
  std::optional<loops::Loop> take(const Command& command, int64_t index, Cycle now);

  // When the next command leaves an unroller; kNever if none can yet.
  Cycle next_step() const;
  // That command, and when it enters the reservation station.
  struct Issue {
    Command command;
    Cycle enters;
    bool is_matmul;  // of LOOP_WS, else of LOOP_CONV_WS
    int64_t loop;    // the number of its loop among those of its kind
  };
  Issue step(Cycle now);

 private:
  Cycle conv_next_step() const;

  bool has_taken_ = false;
  loops::LoopRegisters registers_;
  MatmulUnroller matmul_;
  ConvUnroller conv_;
};

}  // namespace npu::gemmini::timing
