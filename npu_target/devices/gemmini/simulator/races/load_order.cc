#include "gemmini/simulator/races/load_order.h"

#include <algorithm>

namespace npu::gemmini::races {
namespace {

// Both go through all numbers, so that they are vector code.
bool any(const Numbers& numbers, int64_t from, int64_t to) {
  int32_t bits = 0;
  for (int64_t i = from; i < to; ++i) bits |= numbers[i];
  return bits != 0;
}

void change_by(Numbers& numbers, int64_t from, int64_t to, int32_t change) {
  int32_t* const first = numbers.get();
  for (int64_t i = from; i < to; ++i) first[i] += change;
}

int64_t granules(int64_t rows) { return (rows >> kGranuleShift) + 1; }

}  // namespace

bool Load::writes(const Span& rows) const {
  for (int64_t i = 0; i < blocks; ++i) {
    if (block(i).overlaps(rows)) return true;
  }
  return false;
}

LoadOrder::LoadOrder(int64_t rows)
    : rows_(rows),
      counts_{zeros(granules(rows)), zeros(granules(rows)), zeros(granules(rows))},
      overwrites_(zeros(rows)),
      additions_(zeros(rows)) {}

timing::RowParts LoadOrder::unknown_parts(Queue queue) const {
  timing::RowParts parts = 0;
  for (const Unknown& load : unknown_[index_of(queue)]) parts |= load.parts;
  return parts;
}

void LoadOrder::learn_loads(Queue queue, const Span& span, int32_t time) {
  const std::vector<Unknown>& unknown = unknown_[index_of(queue)];
  const auto uses_span = [&](const Unknown& load) { return load.order.overlaps(span); };
  size_t i = 0;
  do {
    const auto found = std::find_if(unknown.begin() + i, unknown.end(), uses_span);
    if (found == unknown.end()) return;
    i = found - unknown.begin();
    const Slot slot = found->slot;
    const int32_t issued = entries_[slot].time;
    learn(queue, slot, time);  // puts another one in its place
    const int64_t known_by_now = known(queue);
    wait_for(queue, Queue::kLoad, issued, time);
    if (known(queue) != known_by_now) i = 0;  // it put others into places before
  } while (may_be_unknown(queue, span));
}

void LoadOrder::read_log(Queue queue, Queue other, int32_t until, int32_t time) {
  Log& log = logs_[index_of(other)];
  int64_t& read = log.read[index_of(queue)];
  while (read < log.end) {
    const Learned learned = log.entries[static_cast<size_t>(read - log.begin)];
    if (learned.time > until) break;
    ++read;
    const Entry& entry = entries_[learned.slot];
    const bool is_known =
        entry.generation != learned.generation || (entry.known_to & 1u << index_of(queue)) != 0;
    if (!is_known) learn(queue, learned.slot, time);
  }
  int64_t read_by_all = log.end;
  for (size_t reader = 0; reader < kQueues; ++reader) {
    if (reader != index_of(other)) read_by_all = std::min(read_by_all, log.read[reader]);
  }
  if (read_by_all - log.begin < kManyRead) return;
  log.entries.erase(log.entries.begin(), log.entries.begin() + (read_by_all - log.begin));
  log.begin = read_by_all;
}

void LoadOrder::learn(Queue queue, Slot slot, int32_t time) {
  Entry& entry = entries_[slot];
  std::vector<Unknown>& unknown = unknown_[index_of(queue)];
  const Unknown last = unknown.back();
  unknown[entry.place[index_of(queue)]] = last;
  entries_[last.slot].place[index_of(queue)] = entry.place[index_of(queue)];
  unknown.pop_back();
  count(queue, entry.load.order, -1);
  if (queue == Queue::kLoad) {
    count_writes(entry.load, -1);
    count_banks(entry.load, -1);
  }
  logs_[index_of(queue)].entries.push_back({slot, entry.generation, time});
  ++logs_[index_of(queue)].end;
  entry.known_to |= 1u << index_of(queue);
  if (entry.known_to == kKnownToAll) {
    ++entry.generation;
    free_.push_back(slot);
  }
}

void LoadOrder::count(Queue queue, const Span& span, int32_t change) {
  // The load queue never waits for its own.
  if (queue == Queue::kLoad) return;
  change_by(counts_[index_of(queue)], first_granule(span), granules_end(span), change);
}

void LoadOrder::count_writes(const Load& load, int32_t change) {
  Numbers& counts = load.accumulates ? additions_ : overwrites_;
  for (int64_t i = 0; i < load.blocks; ++i) {
    change_by(counts, load.block(i).start, load.block(i).end, change);
  }
}

void LoadOrder::count_banks(const Load& load, int32_t change) {
  if (load.zero_banks != 0) zeros_.change(load.zero_banks, change);
  if (load.data_banks != 0) data_.change(load.data_banks, change);
}

const Load* LoadOrder::unordered_with(const Load& next) const {
  for (int64_t i = 0; i < next.blocks; ++i) {
    const Span rows = next.block(i);
    if (!any(overwrites_, rows.start, rows.end) &&
        (next.accumulates || !any(additions_, rows.start, rows.end))) {
      continue;
    }
    for (const Unknown& unknown : unknown_[index_of(Queue::kLoad)]) {
      const Load& load = entries_[unknown.slot].load;
      if (load.writes(rows) && !(load.accumulates && next.accumulates)) return &load;
    }
  }
  return nullptr;
}

const Load* LoadOrder::mixed_with(const Load& next) const {
  if (!touch_two(next.zero_banks, data_.banks()) && !touch_two(zeros_.banks(), next.data_banks)) {
    return nullptr;
  }
  for (const Unknown& unknown : unknown_[index_of(Queue::kLoad)]) {
    const Load& load = entries_[unknown.slot].load;
    if (load.mixes_with(next)) return &load;
  }
  return nullptr;
}

const Load* LoadOrder::unknown_writer(Queue queue, const Span& span) const {
  for (const Unknown& unknown : unknown_[index_of(queue)]) {
    const Load& load = entries_[unknown.slot].load;
    if (load.writes(span)) return &load;
  }
  return nullptr;
}

const Load* LoadOrder::unknown_reader(Queue queue, const DramRows& rows) const {
  for (const Unknown& unknown : unknown_[index_of(queue)]) {
    const Load& load = entries_[unknown.slot].load;
    if (load.source.overlaps(rows)) return &load;
  }
  return nullptr;
}

void LoadOrder::add(const Load& load, int32_t time) {
  Slot slot = static_cast<Slot>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[slot];
  entry.load = load;
  entry.time = time;
  entry.known_to = 0;
  for (size_t queue = 0; queue < kQueues; ++queue) {
    entry.place[queue] = static_cast<uint32_t>(unknown_[queue].size());
    unknown_[queue].push_back({load.order, load.parts, slot});
    count(static_cast<Queue>(queue), load.order, 1);
  }
  count_writes(load, 1);
  count_banks(load, 1);
}

void LoadOrder::forget() { *this = LoadOrder(rows_); }

}  // namespace npu::gemmini::races
