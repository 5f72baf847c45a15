// Division by sizes that are powers of two, which all sizes of memories and buses are.
#pragma once

#include <cstdint>
#include <string>

#include "sim/error.h"

namespace npu::gemmini::timing {

class PowerOfTwo {
 public:
  // Throws SimError bad_program when the config's `field` is no power of two.
  PowerOfTwo(const char* field, int64_t value) : value_(value) {
    if (value < 1 || (value & (value - 1)) != 0) {
      throw sim::SimError(sim::ErrorKind::kBadProgram, -1,
                          std::string("device config: ") + field + " is " + std::to_string(value) +
                              ", must be a power of two");
    }
    while ((int64_t{1} << shift_) < value) ++shift_;
  }

  int64_t value() const { return value_; }
  int64_t divide(int64_t by_this) const { return by_this >> shift_; }
  int64_t divide_up(int64_t by_this) const { return (by_this + value_ - 1) >> shift_; }
  uint64_t divide(uint64_t by_this) const { return by_this >> shift_; }
  int64_t remainder(uint64_t by_this) const {
    return static_cast<int64_t>(by_this & static_cast<uint64_t>(value_ - 1));
  }

 private:
  int64_t value_;
  int shift_ = 0;
};

// Division by a number that is a power of two as a rule, and then costs a shift.
class Divisor {
 public:
  explicit Divisor(uint64_t value) : value_(value) {
    if ((value & (value - 1)) == 0) shift_ = __builtin_ctzll(value | (uint64_t{1} << 63));
  }

  uint64_t value() const { return value_; }
  uint64_t divide(uint64_t by_this) const {
    return shift_ >= 0 ? by_this >> shift_ : by_this / value_;
  }
  uint64_t remainder(uint64_t by_this) const {
    return shift_ >= 0 ? by_this & (value_ - 1) : by_this % value_;
  }

 private:
  uint64_t value_;
  int shift_ = -1;
};

}  // namespace npu::gemmini::timing
