// The L2 cache.
#pragma once

#include <algorithm>
#include <vector>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/data_pipeline.h"
#include "gemmini/simulator/timing/door.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/line_places.h"
#include "gemmini/simulator/timing/memory_bus.h"
#include "gemmini/simulator/timing/mshrs.h"
#include "gemmini/simulator/timing/power_of_two.h"
#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {

// A set-associative, write-back cache.
//
// Policy (rocket-chip-inclusive-cache): a lookup hits, or takes a victim way picked by a 16-bit
// LFSR, valid or not (Directory.scala). A miss evicts the victim, which memory acknowledges, dirty
// or not, and reads the whole line, unless the request writes all of it: then it asks for the
// permission only (MSHR.scala). Data of a request that begins with its line are passed on as they
// come, of others when the line is whole (w_grant in MSHR.scala); the register acknowledges the
// line with the first of what it wants then (s_grantack). A line that comes from memory takes
// cycles of the data pipeline away: the banks of the data store serve it first, and who follows it
// through them cannot pass it (BankedStore.scala). A write that leaves bytes of its beats out reads
// them first (SourceD.scala).
//
// Calls come in about the order of time: a few tens of cycles between the engines do no harm. What
// hits while nothing is under way, which is most, costs no more than the lookup.
class L2 {
 public:
  explicit L2(const Config& config);

  // A request for `bytes` at `address` leaves the DMA in cycle `at`; its reader takes beats from
  // cycle `taken` on. Returns the cycle of the first beat; the others follow one after another.
  NPU_INLINE Cycle read(uint64_t address, int64_t bytes, Cycle at, Cycle taken);
  // When a write has left the cache's door, and when it is acknowledged; a later one's permission
  // may still come before this one's, then it is acknowledged later.
  struct Written {
    Cycle entered;
    Cycle acknowledged;
  };
  // A request to write comes to the door at `came`, its last beat leaves the DMA in cycle `at`.
  NPU_INLINE Written write(uint64_t address, int64_t bytes, bool is_partial, Cycle came, Cycle at);
  // Nothing else comes: all that is under way ends. Returns when the last write is acknowledged of
  // those that waited for a permission.
  Cycle settle() { return mshrs_.settle(); }

  // A read that takes turns with the DMA's requests at the cache's door, where those wait for an
  // MSHR: it goes behind the first of them. With nobody there or in the cache its first beat comes
  // after `alone` cycles.
  NPU_RARE Cycle read_between(uint64_t address, int64_t bytes, Cycle at, Cycle alone);

  int64_t hits() const { return hits_; }
  int64_t misses() const { return misses_; }
  // Lines that came from memory, and that went there.
  int64_t lines_read() const { return bus_.lines_read(); }
  int64_t lines_written() const { return bus_.lines_written(); }

 private:
  static constexpr uint64_t kNoLine = LinePlaces::kNoLine;
  static constexpr uint64_t kNowhere = LinePlaces::kNowhere;

  // Part of a request, or all: so many beats of a line.
  struct Piece {
    uint64_t line;
    uint64_t place;  // of the line, kNowhere if it is not there
    int64_t beats;
    Cycle ready;  // its first beat, if all goes well
    Cycle taken;  // of a read, by the reader
    bool is_write;
    bool needs_data;   // what it does not write of the line
    bool begins_line;  // its first beat is the line's
    bool is_partial;   // a write that leaves bytes of its beats out
  };

  // Looks a line up. Returns its place, kNowhere if it is not there.
  NPU_INLINE uint64_t find(uint64_t line);
  // A read that misses, or comes while others are under way. Returns the cycle of its first beat.
  NPU_RARE Cycle serve_read(uint64_t address, uint64_t place, int64_t beats, Cycle ready,
                            Cycle taken);
  // Such a write.
  NPU_RARE Written serve_write(uint64_t address, uint64_t place, int64_t bytes, bool is_partial,
                               Cycle came, Cycle ready);
  // Returns the cycle of the first beat.
  NPU_INLINE Cycle serve(const Piece& piece);
  bool begins_line(uint64_t address) const { return line_bytes_.remainder(address) == 0; }
  // What comes from memory for a miss.
  struct Arrival {
    Cycle begins = 0;  // from then on the pipeline may pass it on
    Cycle ends = 0;    // not before then it has passed all, 0 if it need not wait for any
    Cycle done = 0;    // the miss needs no more; kNever if a permission tells
  };
  // Asks for it at `asked`, at the earliest. What the line replaces is evicted before, if it is not
  // kNoLine.
  NPU_INLINE Arrival fetch(const Piece& piece, uint64_t victim, bool is_dirty, Cycle asked,
                           Mshrs::Id mshr);
  // Requests that are larger than a line.
  NPU_RARE Cycle read_lines(uint64_t address, int64_t bytes, Cycle at, Cycle taken);
  NPU_RARE Written write_lines(uint64_t address, int64_t bytes, bool is_partial, Cycle came,
                               Cycle at);

  const uint64_t ways_;
  const PowerOfTwo line_bytes_;
  const PowerOfTwo bus_bytes_;
  const Cycle hit_latency_;
  const PowerOfTwo line_beats_;
  MemoryBus bus_;
  const Ticks fill_ticks_;  // that a beat of a line on its way in takes of the pipeline
  DataPipeline data_;
  Mshrs mshrs_;
  Door door_;
  LinePlaces places_;
  std::vector<uint8_t> is_dirty_;  // by place
  uint64_t lfsr_ = 1;              // 16 bits
  Cycle quiet_ = 0;                // requests from then on find none under way
  int64_t hits_ = 0;
  int64_t misses_ = 0;
};

uint64_t L2::find(uint64_t line) {
  // Every lookup clocks the LFSR (taps 16, 14, 13, 11).
  const uint64_t feedback = (lfsr_ ^ (lfsr_ >> 2) ^ (lfsr_ >> 3) ^ (lfsr_ >> 5)) & 1;
  lfsr_ = (lfsr_ >> 1) | (feedback << 15);
  return places_.find(line);
}

Cycle L2::read(uint64_t address, int64_t bytes, Cycle at, Cycle taken) {
  if (rarely(bytes > line_bytes_.value())) return read_lines(address, bytes, at, taken);
  const int64_t beats = bus_bytes_.divide(bytes);
  const uint64_t place = find(line_bytes_.divide(address));
  const Cycle ready = at + hit_latency_;
  if (rarely(place == kNowhere || ready < quiet_)) {
    return serve_read(address, place, beats, ready, taken);
  }
  ++hits_;
  return data_.pass_next_read(std::max(ready, taken), beats);
}

L2::Written L2::write(uint64_t address, int64_t bytes, bool is_partial, Cycle came, Cycle at) {
  if (rarely(bytes > line_bytes_.value())) return write_lines(address, bytes, is_partial, came, at);
  const int64_t beats = bus_bytes_.divide(bytes);
  const uint64_t place = find(line_bytes_.divide(address));
  const Cycle ready = at + hit_latency_ - (beats - 1);
  if (rarely(place == kNowhere || ready < quiet_)) {
    return serve_write(address, place, bytes, is_partial, came, ready);
  }
  ++hits_;
  is_dirty_[place] = 1;
  const Ticks duration = beats * (kTicksPerCycle + (is_partial ? kL2PartialBeatTicks : 0));
  return {came, data_.pass_write(ready, duration, 0) - 1};
}

}  // namespace npu::gemmini::timing
