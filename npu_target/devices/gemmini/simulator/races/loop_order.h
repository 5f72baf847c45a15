// Loops of the hardware that come one right behind the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gemmini/simulator/loops/registers.h"
#include "gemmini/simulator/races/memory_rows.h"
#include "gemmini/simulator/races/race.h"
#include "gemmini/simulator/races/row_times.h"

namespace npu::gemmini::races {

// Policy (LoopMatmul.scala, LoopConv.scala): an unroller works on two loops at once. Each of its
// units goes through the loops in order, and on to the next as soon as it has issued what it has to
// do in one; what another unit has left to do there it does not look at. So commands of the second
// loop may come before such of the first, and the reservation station then takes them for the older
// ones. A command that is not of an unroller's own loops waits until it is through with all.
//
// Besides, whether LOOP_WS adds (residual add) is one register for both loops. And nobody knows
// with which half of the scratchpad the first LOOP_WS begins, so those that name a half and those
// that take their own are looked at both ways.
class LoopOrder {
 public:
  explicit LoopOrder(const MemoryRows& rows) : rows_(rows) {}

  // A command of a loop, and the loop if it starts one. Throws SimError race for one whose commands
  // may come too early for the loop before it.
  void take(const Named& now, const loops::Loop* loop);
  // All that has been taken is complete.
  void fence();

  // In the order in which a unit may wait for others of its loop. Those of LOOP_CONV_WS stand for
  // input, weights and bias.
  enum Unit : size_t { kLoadA, kLoadB, kLoadD, kExecute, kStore };
  static constexpr size_t kUnits = 5;
  // Rows that a unit's commands use.
  struct Use {
    Unit unit;
    bool writes;
    Span rows;
  };
  struct Taken {
    Named name;
    bool is_conv;
    bool is_residual_add;
    bool takes_part[kUnits];  // a unit that does so may have nothing to do
    bool has_commands[kUnits];
    std::array<std::vector<Use>, 2> uses;  // by the half that the first loop begins with
  };

 private:
  void check(const Taken& now, const Taken& before) const;
  void check_uses(const Taken& now, const Taken& before, size_t first_half) const;

  const MemoryRows& rows_;
  int64_t last_index_ = -1;
  // The loop of each kind that was started last, unless its unroller is through with it.
  std::optional<Taken> matmul_;
  std::optional<Taken> conv_;
};

}  // namespace npu::gemmini::races
