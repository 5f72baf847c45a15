#include "gemmini/simulator/timing/l2.h"

namespace npu::gemmini::timing {

L2::L2(const Config& config)
    : ways_(static_cast<uint64_t>(config.l2_ways)),
      line_bytes_("l2_line_bytes", config.l2_line_bytes),
      bus_bytes_("bus_bytes", config.bus_bytes),
      hit_latency_(config.l2_hit_latency_cycles),
      line_beats_("l2_line_bytes", bus_bytes_.divide_up(config.l2_line_bytes)),
      bus_(config),
      fill_ticks_(line_beats_.divide(std::max<Ticks>(0, bus_.line_cycles() - line_beats_.value()) *
                                     kL2FillTicks)),
      data_(bus_.line_cycles(), to_ticks(config.l2_mshrs * line_beats_.value())),
      mshrs_(config.l2_mshrs, bus_, data_),
      places_(ways_,
              static_cast<uint64_t>(config.l2_bytes / (config.l2_ways * config.l2_line_bytes))),
      is_dirty_(places_.count(), 0) {}

L2::Arrival L2::fetch(const Piece& piece, uint64_t victim, bool is_dirty, Cycle asked,
                      Mshrs::Id mshr) {
  if (victim != kNoLine) {
    const Cycle released = mshrs_.evict_from(std::max(asked, bus_.writable()));
    asked = released + kL2ReleaseStages;
    if (is_dirty) {
      mshrs_.writes_back(mshr, bus_.write(victim, mshrs_.write_back_from(released)));
    } else {
      mshrs_.evicts(mshr, released + kL2AcknowledgeStages);
    }
  }
  asked = mshrs_.ask_from(asked, !piece.needs_data);
  if (!piece.needs_data) {
    const Cycle permitted = asked + kL2PermissionStages;
    mshrs_.receive_until(permitted);
    return {permitted + 1, 0, kNever};
  }
  const Cycle data = bus_.data_from(piece.line, asked);
  mshrs_.receive_until(data);
  const Cycle begins = bus_.take_line(data);
  const Cycle end = begins + bus_.line_cycles();
  const Cycle done = end + kL2DoneStages;
  if (!piece.begins_line) {
    bus_.acknowledge_grant(begins);
    return {end, end + 1, done};
  }
  return {begins, begins + line_beats_.divide(bus_.line_cycles() * piece.beats), done};
}

Cycle L2::serve(const Piece& piece) {
  Cycle ready = piece.ready;
  const uint64_t set = places_.set_of(piece.line);
  const Mshrs::Id mshr = mshrs_.allocate(piece.line, set, ready);
  const Cycle left = ready - hit_latency_;
  Arrival arrival;
  Ticks duration = piece.beats * (kTicksPerCycle + (piece.is_write ? 0 : kL2ReadGapTicks));
  if (piece.is_partial) duration += piece.beats * kL2PartialBeatTicks;
  if (piece.place == kNowhere) {
    ++misses_;
    const uint64_t place = places_.place(set, (lfsr_ * ways_) >> 16);
    const uint64_t victim = places_.line_at(place);
    const bool is_dirty = is_dirty_[place] != 0;
    places_.put(place, piece.line);
    is_dirty_[place] = piece.is_write;
    arrival = fetch(piece, victim, is_dirty, ready, mshr);
    ready = std::max(ready, arrival.begins);
    if (piece.needs_data && piece.begins_line) duration += fill_ticks_ * piece.beats;
    if (victim != kNoLine) duration += kL2EvictTicks;
  } else {
    ++hits_;
    if (piece.is_write) is_dirty_[piece.place] = 1;
  }
  Cycle first_beat = ready;
  if (arrival.done == kNever) {
    mshrs_.writes(mshr, arrival.begins - 1, left + hit_latency_, duration);
  } else {
    const Cycle end =
        piece.is_write ? data_.pass_write(ready, duration, arrival.ends)
                       : data_.pass_read({ready, piece.taken, piece.beats, duration, arrival.ends});
    const Cycle turn = end - to_cycle(duration);
    const bool is_miss = piece.place == kNowhere;
    if (is_miss && piece.begins_line) bus_.acknowledge_grant(turn);
    mshrs_.complete(mshr, std::max(arrival.done, turn - kL2DataStages), is_miss);
    first_beat = end - piece.beats;
  }
  quiet_ = mshrs_.quiet();
  // One that waits for its set's MSHR has left the door.
  if (!mshrs_.waited_for_set()) door_.add(left, first_beat);
  return first_beat;
}

Cycle L2::serve_read(uint64_t address, uint64_t place, int64_t beats, Cycle ready, Cycle taken) {
  return serve({line_bytes_.divide(address), place, beats, ready, taken, false, true,
                begins_line(address), false});
}

L2::Written L2::serve_write(uint64_t address, uint64_t place, int64_t bytes, bool is_partial,
                            Cycle came, Cycle ready) {
  const int64_t beats = bus_bytes_.divide(bytes);
  const bool needs_data = is_partial || bytes < line_bytes_.value();
  const Cycle acknowledged = serve({line_bytes_.divide(address), place, beats, ready, 0, true,
                                    needs_data, begins_line(address), is_partial}) +
                             beats - 1;
  return {door_.enter(came, beats, !mshrs_.waited_for_set()), acknowledged};
}

Cycle L2::read_between(uint64_t address, int64_t bytes, Cycle at, Cycle alone) {
  // It goes behind the first that waits, in the second's place.
  const Door::Waiting waiting = door_.waiting(at);
  const Cycle last = read(address, bytes, at, at);
  // With so many ahead of their time, nobody knows who waits then: as long as the first known.
  if (!waiting.is_known) {
    return at + std::max(waiting.first.first_beat - waiting.first.taken, alone);
  }
  if (waiting.second.taken == kLongAgo) return last;
  return std::min(last, std::max(waiting.second.first_beat, waiting.second.taken + alone));
}

Cycle L2::read_lines(uint64_t address, int64_t bytes, Cycle at, Cycle taken) {
  const Cycle beats = bus_bytes_.divide(bytes);
  for (; bytes > 0; bytes -= line_bytes_.value(), address += line_bytes_.value()) {
    const int64_t part = line_bytes_.value();
    taken = read(address, part, at, taken) + bus_bytes_.divide(part);
  }
  return taken - beats;
}

L2::Written L2::write_lines(uint64_t address, int64_t bytes, bool is_partial, Cycle came,
                            Cycle at) {
  Written written = {came, at};
  for (; bytes > 0; bytes -= line_bytes_.value(), address += line_bytes_.value()) {
    const Written part = write(address, line_bytes_.value(), is_partial, came, at);
    written.entered = std::max(written.entered, part.entered);
    written.acknowledged = std::max(written.acknowledged, part.acknowledged);
  }
  return written;
}

}  // namespace npu::gemmini::timing
