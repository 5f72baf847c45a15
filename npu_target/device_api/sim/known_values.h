// What the host core's registers hold where code runs in a straight line.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/program.h"

namespace npu::sim {

// A word known up to an address (of Program::address, -1: none).
struct KnownValue {
  int32_t address = -1;
  uint64_t offset = 0;

  bool operator==(const KnownValue& other) const {
    return address == other.address && offset == other.offset;
  }
  bool operator<(const KnownValue& other) const {
    return address != other.address ? address < other.address : offset < other.offset;
  }
};

// Policy: a word is made from the nearest one that a register holds, by an addition, which takes a
// distance of 12 bits with it and any other one from a register of its own; or anew, if that is
// shorter: a constant by the sequence for it, an address from the stack, by a shift each way where
// it is shifted. The word used longest ago makes room. A register that will run on holds where it
// begins as long as only others are made.
class KnownValues {
 public:
  // The addresses of the program's arguments come in registers, as far as a call passes them so.
  KnownValues(size_t registers, const Program& program);

  // Instructions to have `value` in a register, where it stays.
  uint32_t make(const KnownValue& value);
  // The same in a register of its own, which will run on from there when all are `begun`.
  uint32_t take(const KnownValue& value);
  void begun() { beginning_.clear(); }
  // Where nothing is known of what they hold.
  void forget() { held_.clear(); }
  // What they hold, used latest at the end; and that they hold this.
  const std::vector<KnownValue>& held() const { return held_; }
  void hold_all(const std::vector<KnownValue>& values) { held_ = values; }
  // A register that has stopped running holds this.
  void put(const KnownValue& value);

 private:
  uint32_t cost(const KnownValue& value);
  template <typename IsAsked>
  uint32_t least_addition(const KnownValue& value, const IsAsked& is_asked);
  void hold(const KnownValue& value);
  // Where it is held, at most once.
  std::vector<KnownValue>::iterator place_of(const KnownValue& value) {
    return std::find(held_.begin(), held_.end(), value);
  }
  uint32_t address(int32_t index) const;
  uint32_t addition(uint64_t distance);
  uint32_t constant(uint64_t value);

  const size_t registers_;
  const Program& program_;
  std::vector<KnownValue> held_;       // used latest at the end
  std::vector<KnownValue> beginning_;  // in registers that were taken and do not run yet
  // Instructions of constants of more than 32 bits that were asked for, each at a place of its own
  // as far as there is room (0: none yet): programs have few, and finding out takes long.
  struct Constant {
    uint64_t value = 0;
    uint32_t instructions = 0;
  };
  std::array<Constant, 256> constants_;
};

}  // namespace npu::sim
