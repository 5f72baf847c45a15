// The unroller of LOOP_CONV_WS: which of its units issues a command when.
#pragma once

#include <array>
#include <optional>

#include "gemmini/simulator/loops/conv_loads.h"
#include "gemmini/simulator/loops/conv_units.h"
#include "gemmini/simulator/timing/loop_turns.h"
#include "gemmini/simulator/timing/reservation_station.h"

namespace npu::gemmini::timing {

// Policy (LoopConv.scala): as with LOOP_WS one command leaves per cycle, in the order store,
// execute, bias, weights, input, while its partition has entries. But every unit works out its
// addresses in a pipeline of two stages, and waits as a whole: execute starts when the loop's loads
// have all left, the store when the computes have. While execute waits for its loads, those of the
// next loop do not enter their pipelines.
class ConvUnroller {
 public:
  explicit ConvUnroller(const ReservationStation& station) : station_(station) {}

  // A loop whose registers are complete from cycle `configured` on.
  void add(const loops::ConvLoop& loop, Cycle configured);
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
  // In the order of the arbiter.
  enum Unit : size_t { kStore, kExecute, kBias, kWeights, kInput };

  // The commands of a unit that are in its pipeline or next to it.
  struct Pipeline {
    Cycle earliest_entry = kLongAgo;  // of the front command, but for what the unit waits for
    Cycle left = kLongAgo;            // when the command before the front one left
    Cycle left_before = kLongAgo;     // and the one before that
  };

  void take_up();
  bool take_up(Unit unit);
  Cycle request(Unit unit, int64_t number) const;
  bool begin(Unit unit, const loops::ConvLoop& loop);
  // When what the unit waits for as a whole is over.
  Cycle gate(Unit unit) const;
  Cycle loads_completed(int64_t number) const;
  // When the unit's front command has entered the pipeline, and when it may leave.
  Cycle entry(Unit unit) const;
  Cycle ready(Unit unit) const;
  Command issue(Unit unit, Cycle now);

  const ReservationStation& station_;
  LoopTurns turns_;
  std::array<loops::ConvLoop, 2> loops_{};  // by number
  std::optional<loops::ConvStore> store_;
  std::optional<loops::ConvExecute> execute_;
  std::optional<loops::ConvLoadBias> bias_;
  std::optional<loops::ConvLoadWeights> weights_;
  std::optional<loops::ConvLoadInput> input_;
  std::array<Pipeline, LoopTurns::kUnits> pipelines_{};
  Cycle next_free_ = 0;  // the cycle after the last command left
  int64_t issued_loop_ = -1;
};

}  // namespace npu::gemmini::timing
