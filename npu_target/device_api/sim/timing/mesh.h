// The systolic array behind the execute controller: how long results take to come out.
#pragma once

#include <vector>

#include "config.h"
#include "cycle.h"
#include "ports.h"
#include "reservation_station.h"

namespace npu::sim::timing {

// Policy (MeshWithDelays.scala, Mesh.scala): a request feeds some rows into the array, one per
// cycle. Row r leaves 2 * dim + 1 cycles after it entered: one buffer, dim - 1 of skew, dim rows
// of processing elements and one output register. Every request puts a tag (where its PRELOAD
// wants C) into a queue of `mesh_tag_queue_entries`; the tag leaves with the last row of the
// following request when weight-stationary, of the one after that when output-stationary, and a
// request cannot enter while the queue is full. The PRELOAD completes when its tag leaves.
class Mesh {
 public:
  Mesh(const Config& config, ReservationStation& station, PortCalendar& acc_reads);

  // The first cycle in which the rows of the next request may be read.
  Cycle earliest_request() const;

  // What the PRELOAD of a request wants; `id` is kNone when it wants no result.
  struct Tag {
    ReservationStation::Id id = ReservationStation::kNone;
    uint32_t address = 0;
    int64_t rows = 0;
    BankMask acc_banks = 0;  // 0: not an accumulator
    bool accumulates = false;
    bool is_weight_stationary = true;
  };

  // A request whose rows are read in cycles [start, end).
  void request(Cycle start, Cycle end, const Tag& tag);

  // Whether a result is on its way that no request so far pushes out.
  bool has_pending() const { return !pending_.empty(); }
  // The last cycle in which a result that is being pushed out leaves.
  Cycle last_result() const { return last_result_; }
  // When a result for exactly this local address is out; kNever while nothing pushes it out.
  Cycle result_out(uint32_t address) const;

 private:
  struct Pending {
    Tag tag;
    int requests_left;
  };
  struct Leaving {
    uint32_t address;
    Cycle last;
  };
  void leave(const Tag& tag, Cycle start, Cycle end);

  const Cycle latency_;
  ReservationStation& station_;
  PortCalendar& acc_reads_;
  std::vector<Pending> pending_;  // at most three, reserved
  std::vector<Leaving> leaving_;  // a ring of the latest results
  size_t next_leaving_ = 0;
  std::vector<Cycle> out_;  // last rows of the latest requests, a ring
  size_t next_out_ = 0;
  Cycle last_result_ = -1;
};

}  // namespace npu::sim::timing
