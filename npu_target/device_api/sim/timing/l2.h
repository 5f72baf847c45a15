// The L2 cache and the memory behind it.
#pragma once

#include <algorithm>
#include <vector>

#include "config.h"
#include "cycle.h"
#include "inline.h"
#include "power_of_two.h"

namespace npu::sim::timing {

// A set-associative, write-back cache in front of a memory with one latency and one bandwidth.
//
// Policy (rocket-chip-inclusive-cache): a lookup hits, or takes a victim way picked by a 16-bit
// LFSR, valid or not (Directory.scala). A miss reads the whole line, unless the request writes
// all of it (MSHR.scala: no block is acquired for a full PutFullData). Lines come one after
// another at the memory's bandwidth; the requester's data follow once its line is complete. A
// dirty victim is written back over a channel of its own with the same bandwidth, and the line
// that replaces it is not ready before. Its data pipeline moves one beat per cycle (SourceD.scala):
// beats that are written come between those that are read.
class L2 {
 public:
  explicit L2(const Config& config);

  // A request for `bytes` at `address` leaves the DMA in cycle `at`. Returns the cycle in which
  // the first beat of data, or the acknowledgement of a write, is back.
  NPU_INLINE Cycle read(uint64_t address, int64_t bytes, Cycle at);
  Cycle write(uint64_t address, int64_t bytes, bool is_partial, Cycle at);

  // When data that keep the pipeline busy for `duration` begin to go out to a reader that can
  // take them from `earliest` on.
  Ticks send(Ticks earliest, Ticks duration) {
    const Ticks start = std::max(earliest, data_free_);
    data_free_ = start + duration;
    return start;
  }
  // The same for data that came in, whose last beat is acknowledged in cycle `acknowledged`.
  void receive(Cycle acknowledged, Ticks duration) {
    data_free_ = std::max(data_free_, to_ticks(acknowledged)) + duration;
  }

  // Forgets every line, as after a reset.
  void invalidate();

  int64_t hits() const { return hits_; }
  int64_t misses() const { return misses_; }

 private:
  static constexpr uint64_t kNoLine = ~uint64_t{0};

  // Makes sure that the line of this number (address / line bytes) is, or will be, in the cache.
  // Returns its place.
  NPU_INLINE size_t touch(uint64_t number, bool needs_data, Cycle at);
  // A line that is not there comes to a victim's place, which it returns.
  NPU_RARE size_t replace(uint64_t first_place, uint64_t number, bool needs_data, Cycle at);
  Cycle transfer(Ticks& channel_free, Cycle earliest) const;

  const uint64_t ways_;
  const uint64_t sets_;
  const PowerOfTwo line_bytes_;
  const Cycle hit_latency_;
  const Cycle memory_latency_;
  const Ticks line_ticks_;
  // By place: set * ways + way.
  std::vector<uint64_t> numbers_;
  std::vector<Cycle> ready_;  // when the line has arrived
  std::vector<uint8_t> is_dirty_;
  uint64_t lfsr_ = 1;  // 16 bits
  Ticks read_channel_free_ = 0;
  Ticks write_channel_free_ = 0;
  Ticks data_free_ = 0;
  int64_t hits_ = 0;
  int64_t misses_ = 0;
};

size_t L2::touch(uint64_t number, bool needs_data, Cycle at) {
  // Every lookup clocks the LFSR (taps 16, 14, 13, 11).
  const uint64_t feedback = (lfsr_ ^ (lfsr_ >> 2) ^ (lfsr_ >> 3) ^ (lfsr_ >> 5)) & 1;
  lfsr_ = (lfsr_ >> 1) | (feedback << 15);
  // The number of sets is a power of two in every real cache; the config does not ask for it.
  const uint64_t set = (sets_ & (sets_ - 1)) == 0 ? number & (sets_ - 1) : number % sets_;
  const uint64_t first = set * ways_;
  const uint64_t end = first + ways_;
  // All ways without a branch: a line is in a random one, so that none could be foreseen.
  uint64_t found = end;
#pragma GCC unroll 8
  for (uint64_t place = first; place < end; ++place) {
    found = numbers_[place] == number ? place : found;
  }
  if (found == end) return replace(first, number, needs_data, at);
  ++hits_;
  return found;
}

Cycle L2::read(uint64_t address, int64_t bytes, Cycle at) {
  const uint64_t last = line_bytes_.divide(address + static_cast<uint64_t>(bytes) - 1);
  uint64_t number = line_bytes_.divide(address);
  Cycle ready = std::max(at, ready_[touch(number, true, at)]);
  while (rarely(number < last)) ready = std::max(ready, ready_[touch(++number, true, at)]);
  return ready + hit_latency_;
}

}  // namespace npu::sim::timing
