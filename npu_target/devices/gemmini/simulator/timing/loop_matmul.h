// The unroller of LOOP_WS: which of its units issues a command when.
#pragma once

#include <array>
#include <optional>

#include "gemmini/simulator/loops/matmul_units.h"
#include "gemmini/simulator/timing/loop_turns.h"
#include "gemmini/simulator/timing/reservation_station.h"

namespace npu::gemmini::timing {

// Policy (LoopMatmul.scala): one command leaves per cycle, of the first unit that has one ready, in
// the order store, execute, load D, load A or B. A unit has a command ready while fewer commands
// than its partition of the reservation station has entries are under way. Besides, execute waits
// until the loads of its blocks of A and B, and of all D, have been issued; a store until the last
// computes of its blocks have. Of A and B, the one whose loop is older goes first; within a loop B
// until it has begun and while its k is behind A's, else A. With residual add, A goes before B, and
// stores follow B.
class MatmulUnroller {
 public:
  explicit MatmulUnroller(const ReservationStation& station) : station_(station) {}

  // A loop whose registers are complete from cycle `configured` on.
  void add(const loops::MatmulLoop& loop, Cycle configured);
  const LoopTurns& turns() const { return turns_; }

  // When the next command leaves, as far as known; kNever if none can yet.
  Cycle next_step() const;
  Command step(Cycle now);
  // The number of the loop that the latest command was of.
  int64_t issued_loop() const { return issued_loop_; }
  // Where the commands of a unit go.
  static Queue queue_of(size_t unit) {
    return unit == kExecute ? Queue::kExecute : unit == kStore ? Queue::kStore : Queue::kLoad;
  }

 private:
  enum Unit : size_t { kLoadA, kLoadB, kLoadD, kExecute, kStore };

  const loops::MatmulLoop& loop_of(int64_t number) const {
    return loops_[static_cast<size_t>(number) % loops_.size()];
  }
  // Lets units take up loops as long as any can.
  void take_up();
  bool take_up(Unit unit);
  Cycle request(Unit unit, int64_t number) const;
  bool begin(Unit unit, const loops::MatmulLoop& loop);

  // The first cycle, as far as known, in which the unit's next command may leave.
  Cycle ready(Unit unit, Queue queue) const;
  Cycle store_ready() const;
  Cycle execute_ready() const;
  Cycle load_ab_ready() const;
  // Which of A and B the arbiter looks at in cycle `now`.
  Unit choose_load(Cycle now) const;
  Command issue(Unit unit, Cycle now);

  const ReservationStation& station_;
  LoopTurns turns_;
  std::array<loops::MatmulLoop, 2> loops_{};  // by number
  std::optional<loops::MatmulLoadA> load_a_;
  std::optional<loops::MatmulLoadB> load_b_;
  std::optional<loops::MatmulLoadD> load_d_;
  std::optional<loops::MatmulExecute> execute_;
  std::optional<loops::MatmulStore> store_;
  Cycle next_free_ = 0;  // the cycle after the last command left
  int64_t issued_loop_ = -1;
};

}  // namespace npu::gemmini::timing
