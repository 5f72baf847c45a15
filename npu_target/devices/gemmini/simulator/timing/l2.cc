#include "gemmini/simulator/timing/l2.h"

namespace npu::gemmini::timing {

L2::L2(const Config& config)
    : ways_(static_cast<uint64_t>(config.l2_ways)),
      sets_(static_cast<uint64_t>(config.l2_bytes / (config.l2_ways * config.l2_line_bytes))),
      line_bytes_("l2_line_bytes", config.l2_line_bytes),
      bus_bytes_("bus_bytes", config.bus_bytes),
      hit_latency_(config.l2_hit_latency_cycles),
      line_beats_(bus_bytes_.divide_up(config.l2_line_bytes)),
      most_ahead_(to_ticks(config.l2_mshrs * line_beats_)),
      bus_(config),
      fill_ticks_(std::max<Ticks>(0, bus_.line_cycles() - line_beats_) * kL2FillTicks /
                  line_beats_),
      mshrs_(config.l2_mshrs, bus_),
      lines_(ways_ * sets_.value(), kNoLine),
      is_dirty_(ways_ * sets_.value(), 0) {}

void L2::invalidate() {
  std::fill(lines_.begin(), lines_.end(), kNoLine);
  lfsr_ = 1;
}

L2::Found L2::replace(uint64_t first_place, uint64_t line) {
  ++misses_;
  const uint64_t place = first_place + ((lfsr_ * ways_) >> 16);
  const Found found = {place, lines_[place], false, is_dirty_[place] != 0};
  lines_[place] = line;
  is_dirty_[place] = 0;
  return found;
}

Cycle L2::serve(const Found& found, Piece piece) {
  const Mshrs::Id mshr = mshrs_.allocate(piece.line, set_of(piece.line), piece.ready);
  const Cycle taken = piece.ready - hit_latency_;
  Arrival arrival;
  Ticks duration = piece.beats * (kTicksPerCycle + (piece.is_write ? 0 : kL2ReadGapTicks));
  if (!found.is_hit) {
    arrival = fetch(found, piece, mshr);
    piece.ready = std::max(piece.ready, arrival.begins);
    if (piece.needs_data && piece.begins_line) duration += fill_ticks_ * piece.beats;
    if (found.victim != kNoLine) duration += kL2EvictTicks;
  }
  const Cycle end = piece.is_write ? pass_write(piece, duration, arrival.ends)
                                   : pass_read(piece, duration, arrival.ends);
  mshrs_.complete(mshr, std::max(arrival.done, end - to_cycle(duration) - kL2DataStages));
  quiet_ = mshrs_.quiet();
  // One that waits for its set's MSHR has left the door.
  if (!mshrs_.waited_for_set()) turns_[next_turn_++ % kTurns] = {taken, end - piece.beats};
  return end - piece.beats;
}

L2::Arrival L2::fetch(const Found& found, const Piece& piece, Mshrs::Id mshr) {
  Cycle asked = piece.ready;
  if (found.victim != kNoLine) {
    const Cycle released = std::max(asked, bus_.writable());
    asked = released + kL2ReleaseStages;
    mshrs_.evicts(mshr, found.is_dirty ? bus_.write(found.victim, released)
                                       : released + kL2AcknowledgeStages);
  }
  if (!piece.needs_data) {
    const Cycle granted = asked + kL2PermissionStages;
    mshrs_.acknowledge_until(granted);
    const Cycle end = bus_.take_message(granted) + 1;
    return {end, 0, end + kL2DoneStages};
  }
  const Cycle data = bus_.data_from(piece.line, asked);
  mshrs_.acknowledge_until(data);
  const Cycle begins = bus_.take_line(data);
  const Cycle end = begins + bus_.line_cycles();
  const Cycle done = end + kL2DoneStages;
  if (!piece.begins_line) return {end, end + 1, done};
  return {begins, begins + bus_.line_cycles() * piece.beats / line_beats_, done};
}

Cycle L2::pass_read(const Piece& piece, Ticks duration, Cycle arrived) {
  const Ticks ready = to_ticks(piece.ready);
  // Not where the reader is behind: it takes data in their order.
  if (arrived == 0 && ready < data_.end() &&
      to_ticks(piece.taken) <= data_.end() + to_ticks(kMergerLossCycles)) {
    const Ticks start = data_.take_gap(ready, duration, kL2OverlapTicks);
    if (start != Turns::kNone) return cycle_of(start + duration);
  }
  // Lines came in while the pipeline stood still for a reader: that cost nothing.
  const Ticks hidden = std::min(blocked_, duration - to_ticks(piece.beats));
  blocked_ -= hidden;
  const Ticks start = std::max(ready, data_.end());
  const Ticks passed = std::max(start + duration - hidden, to_ticks(arrived));
  const Ticks end = std::max(passed, to_ticks(piece.taken + piece.beats));
  data_.take_last(start, end);
  blocked_ = std::min(blocked_ + end - passed, most_ahead_);
  return cycle_of(end);
}

Cycle L2::read_between(uint64_t address, int64_t bytes, Cycle at, Cycle alone) {
  // It takes the turn of the second that waits, that one the next one's, and so on: the new turn,
  // behind all of them, is the last one's.
  Turn first;
  Turn second;
  unsigned i = 1;
  for (; i <= kTurns; ++i) {
    const Turn& turn = turns_[(next_turn_ - i) % kTurns];
    if (turn.taken <= at) break;
    second = first;
    first = turn;
  }
  const Cycle last = read(address, bytes, at, at);
  // With so many ahead of their time, nobody knows who waits then: as long as the first known.
  if (i > kTurns) return at + std::max(first.first_beat - first.taken, alone);
  if (second.taken == kLongAgo) return last;
  return std::min(last, std::max(second.first_beat, second.taken + alone));
}

Cycle L2::read_lines(uint64_t address, int64_t bytes, Cycle at, Cycle taken) {
  const Cycle beats = bus_bytes_.divide(bytes);
  for (; bytes > 0; bytes -= line_bytes_.value(), address += line_bytes_.value()) {
    const int64_t part = line_bytes_.value();
    taken = read(address, part, at, taken) + bus_bytes_.divide(part);
  }
  return taken - beats;
}

Cycle L2::write_lines(uint64_t address, int64_t bytes, bool is_partial, Cycle at) {
  Cycle acknowledged = at;
  for (; bytes > 0; bytes -= line_bytes_.value(), address += line_bytes_.value()) {
    acknowledged = std::max(acknowledged, write(address, line_bytes_.value(), is_partial, at));
  }
  return acknowledged;
}

}  // namespace npu::gemmini::timing
