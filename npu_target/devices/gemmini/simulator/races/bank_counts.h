// Banks of the accumulator that loads under way use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace npu::gemmini::races {

using BankMask = uint64_t;  // a bit each

// Whether there is one bank of each, and not the same.
inline bool touch_two(BankMask some, BankMask others) {
  const BankMask all = some | others;
  return some != 0 && others != 0 && (all & (all - 1)) != 0;
}

// How many uses each bank has.
class BankCounts {
 public:
  void change(BankMask banks, int32_t by) {
    for (BankMask left = banks; left != 0; left &= left - 1) {
      const BankMask bank = left & ~(left - 1);
      int32_t& count = counts_[static_cast<size_t>(__builtin_ctzll(left))];
      count += by;
      banks_ = count != 0 ? banks_ | bank : banks_ & ~bank;
    }
  }
  // Those with any.
  BankMask banks() const { return banks_; }

 private:
  std::array<int32_t, 64> counts_{};
  BankMask banks_ = 0;
};

}  // namespace npu::gemmini::races
