// Which line is where in the L2.
#pragma once

#include <cstdint>
#include <vector>

#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/power_of_two.h"

namespace npu::gemmini::timing {

// Places are numbered set by set, `ways` in each; a line can be in those of its set.
class LinePlaces {
 public:
  static constexpr uint64_t kNoLine = ~uint64_t{0};
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  // None is anywhere at first.
  LinePlaces(uint64_t ways, uint64_t sets)
      : ways_(ways),
        sets_(sets),
        is_tagged_(ways == kTagged && (sets & (sets - 1)) == 0),
        set_bits_(is_tagged_ ? __builtin_ctzll(sets) : 0),
        lines_(ways * sets, kNoLine),
        tags_(is_tagged_ ? sets : 0, 0) {}

  uint64_t count() const { return lines_.size(); }
  uint64_t place(uint64_t set, uint64_t way) const { return set * ways_ + way; }
  uint64_t set_of(uint64_t line) const { return sets_.remainder(line); }
  // Where it is, kNowhere if it is not there.
  NPU_INLINE uint64_t find(uint64_t line) const;
  // What is there, kNoLine for nothing.
  uint64_t line_at(uint64_t place) const { return lines_[place]; }
  // A line comes to a place of its set, for what was there.
  void put(uint64_t place, uint64_t line) {
    lines_[place] = line;
    if (!is_tagged_) return;
    uint64_t& tags = tags_[place / kTagged];
    const uint64_t shift = 8 * (place % kTagged);
    tags = (tags & ~(uint64_t{0xff} << shift)) | (tag_of(line) << shift);
  }

 private:
  // Sets of so many ways, if their number is a power of two, which most devices have: they are
  // looked through by a byte of each line first.
  static constexpr uint64_t kTagged = 8;
  static constexpr uint64_t kLowest = 0x0101010101010101;  // bits of the bytes
  static constexpr uint64_t kHighest = 0x8080808080808080;

  NPU_RARE uint64_t find_untagged(uint64_t line) const;
  uint64_t tag_of(uint64_t line) const { return (line >> set_bits_) & 0xff; }

  const uint64_t ways_;
  const Divisor sets_;
  const bool is_tagged_;
  const int set_bits_;
  std::vector<uint64_t> lines_;
  std::vector<uint64_t> tags_;  // of each set
};

uint64_t LinePlaces::find(uint64_t line) const {
  if (rarely(!is_tagged_)) return find_untagged(line);
  const uint64_t set = line & (tags_.size() - 1);
  const uint64_t differences = tags_[set] ^ (kLowest * tag_of(line));
  // The bytes that are zero, and at times one behind them that is not.
  uint64_t alike = (differences - kLowest) & ~differences & kHighest;
  for (; alike != 0; alike &= alike - 1) {
    const uint64_t place = set * kTagged + static_cast<uint64_t>(__builtin_ctzll(alike)) / 8;
    if (lines_[place] == line) return place;
  }
  return kNowhere;
}

}  // namespace npu::gemmini::timing
