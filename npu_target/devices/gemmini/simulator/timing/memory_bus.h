// The bus between the L2 and the memory, and the memory behind it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/cycle.h"
#include "gemmini/simulator/timing/dram.h"
#include "gemmini/simulator/timing/in_flight.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/stages.h"
#include "gemmini/simulator/timing/turns.h"

namespace npu::gemmini::timing {

// Policy (rocket-chip TLCacheCork, TLToAXI4): two ways. What comes from memory takes turns: a line
// at `memory_bytes_per_kilocycle`, or a cycle for a message (an acknowledgement, a permission to
// write). Lines that are written go the other way at the same rate, with
// `memory_write_pause_cycles` between them; few wait there. So do requests for lines, a cycle each,
// which count for nothing, but wait until a line that is going out is through.
// A line and a permission are grants: each needs one of kL2Grants numbers, which it has until its
// register acknowledges it, and waits at the bus as long as there is none.
// Times are those at which a hit's data would leave the cache, so that they can be compared.
class MemoryBus {
 public:
  explicit MemoryBus(const Config& config);

  // A line is asked for at `at`: when memory has its first bytes.
  Cycle data_from(uint64_t line, Cycle at);
  // No grant comes before.
  Cycle grants_from() const { return grants_.earliest(); }
  // The latest grant is acknowledged in its register's turn in cycle `turn`.
  void acknowledge_grant(Cycle turn) { grants_.push_in_any_order(turn + kL2GrantStages); }
  // The way from memory is taken for a line, or for a message. Returns the first cycle.
  Cycle take_line(Cycle ready) {
    ++lines_read_;
    return from_memory_.take(std::max(ready, grants_from()), line_cycles_);
  }
  // A message only if it comes before `until`. Returns when it does, or could, of what is known.
  NPU_INLINE Cycle take_message_before(Cycle until, Cycle ready) {
    return from_memory_.take_before(until, ready);
  }

  // A line is written back, which its cache lets go of at `at`, not before `writable()`. Memory
  // acknowledges it no earlier than `acknowledged_from`.
  struct WriteBack {
    Cycle acknowledged_from;
    uint64_t number;
  };
  WriteBack write(uint64_t line, Cycle at);
  // When it does; nothing is asked for before that any more.
  Cycle acknowledged(const WriteBack& write);
  Cycle writable() const { return writable_; }

  Cycle line_cycles() const { return line_cycles_; }
  int64_t lines_read() const { return lines_read_; }
  int64_t lines_written() const { return lines_written_; }

 private:
  // More lines on their way out than the cache lets go of ahead of a request.
  static constexpr unsigned kWritesKnown = 4;

  // The first cycle from `turn` on in which no line goes out.
  NPU_INLINE Cycle between_writes(Cycle turn) const;

  const Cycle latency_;
  const Cycle line_cycles_;
  const Cycle write_cycles_;
  const bool has_dram_;
  Dram dram_;
  Turns from_memory_{1};
  InFlight grants_{kL2Grants};
  std::array<Cycle, kWritesKnown> write_starts_;  // a ring of the latest
  unsigned oldest_write_ = 0;
  Cycle to_memory_free_ = 0;
  Cycle writable_ = 0;
  int64_t lines_read_ = 0;
  int64_t lines_written_ = 0;
};

}  // namespace npu::gemmini::timing
