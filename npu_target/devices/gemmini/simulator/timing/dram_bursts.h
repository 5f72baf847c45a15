// The commands that read and write the rows of a DRAM, and its data bus.
#pragma once

#include <algorithm>
#include <array>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/inline.h"

namespace npu::gemmini::timing {

// The bursts of all banks of one rank, a line each.
//
// Policy (DRAMSim2, CommandQueue.cpp, MemoryController.cpp): the first whose row is ready goes out,
// as soon as those that went out before it let it: a burst is `dram_burst_clocks` long; a read's
// command comes `dram_write_to_read_clocks` after the data of every write before it, and a
// write's data `dram_read_to_write_clocks` after those of every read before it.
//
// One that is ready before others that are known already and have not gone out goes before them,
// and they come the later for what follows.
class DramBursts {
 public:
  // Throws nothing.
  explicit DramBursts(const Config& config);

  // One whose row is ready at `ready`. Returns when its command goes out.
  NPU_INLINE Ticks take(Ticks ready, bool is_a_write);

 private:
  // The last ones, as many as can be under way beside those that hold the next up.
  static constexpr unsigned kBursts = 16;

  // The latest commands of each kind: reads, writes.
  using Latest = std::array<Ticks, 2>;

  // The earliest behind those.
  Ticks behind(const Latest& latest, bool is_a_write) const {
    return std::max(latest[is_a_write] + same_,
                    latest[!is_a_write] + (is_a_write ? read_to_write_ : write_to_read_));
  }
  Ticks& command(unsigned position) { return commands_[position % kBursts]; }
  bool& is_write(unsigned position) { return are_writes_[position % kBursts]; }
  // The last.
  void add(Ticks at, bool is_a_write) {
    command(end_) = at;
    is_write(end_++) = is_a_write;
  }
  NPU_RARE Ticks take_between(Ticks ready, bool is_a_write);
  // Of a read that no write holds up, nor the reads around it.
  NPU_INLINE Ticks read_between_reads(Ticks ready);
  // Behind the last one.
  Ticks read_behind() {
    const Ticks at = command(end_ - 1) + same_;
    latest_[false] = at;
    add(at, false);
    return at;
  }
  // The place of one that is ready then: behind those that go out before it can, the first in any
  // case: what was before that is forgotten.
  NPU_INLINE unsigned place_of(Ticks ready);

  const Ticks same_;
  const Ticks write_to_read_;
  const Ticks read_to_write_;
  const Ticks longest_;
  // Rings in the order of their commands, the latest before `end_`.
  std::array<Ticks, kBursts> commands_;
  std::array<bool, kBursts> are_writes_{};
  unsigned end_ = kBursts;
  Latest latest_ = {kLongAgo, kLongAgo};
  Ticks full_from_ = kLongAgo;  // from then on there is no room between commands
};

Ticks DramBursts::take(Ticks ready, bool is_a_write) {
  if (ready < command(end_ - 1)) return take_between(ready, is_a_write);
  const Ticks at = std::max(ready, behind(latest_, is_a_write));
  if (at != command(end_ - 1) + same_) full_from_ = at;
  latest_[is_a_write] = at;
  add(at, is_a_write);
  return at;
}

}  // namespace npu::gemmini::timing
