#include "gemmini/simulator/timing/recorder.h"

#include <algorithm>
#include <utility>

#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {
namespace {

// As many as the reservation station may have.
constexpr size_t kMaxEntries = 64;

Reason reason_of(Queue queue) {
  switch (queue) {
    case Queue::kLoad:
      return Reason::kLoads;
    case Queue::kStore:
      return Reason::kStores;
    default:
      return Reason::kDependency;
  }
}

}  // namespace

Recorder::Recorder(SliceSink sink, Cycle from, Cycle to)
    : sink_(std::move(sink)), from_(from), to_(to), entries_(kMaxEntries) {}

int Recorder::kind_of(const Command& command) {
  return command.funct == kConfig ? 128 + static_cast<int>(bits(command.rs1, 1, 0)) : command.funct;
}

void Recorder::host(const Command& command, Cycle from, Cycle wanted, Cycle to) {
  ++index_;
  ++issued_[static_cast<size_t>(kind_of(command))];
  Slice slice{Lane::kHost, from, to, command, index_};
  slice.lost = to - wanted;
  emit(slice);
}

void Recorder::held(Queue queue, Cycle from, Cycle to) {
  if (to <= accounting_.cursor() || from >= to) return;
  const Reason reason = reason_of(queue);
  if (!holds_.empty() && holds_.back().reason == reason && holds_.back().to == from) {
    holds_.back().to = to;
  } else {
    holds_.push_back({from, to, reason});
  }
}

void Recorder::takes_loop(const Command& command, Cycle now) {
  if (command.funct != kLoopWs && command.funct != kLoopConvWs) return;
  const Unroller unroller = command.funct == kLoopWs ? kMatmul : kConv;
  auto& loops = loops_[unroller];
  const int64_t number = loop_counts_[unroller]++;
  loops[static_cast<size_t>(number) % loops.size()] = {index_, now};
}

void Recorder::enters(Id id, const Operation& operation, const Command& command, Cycle now) {
  enter(id, operation, command, now);
}

void Recorder::enters(Id id, const Operation& operation, const Command& command, Cycle now,
                      Unroller unroller, int64_t loop) {
  enter(id, operation, command, now);
  ++unrolled_[static_cast<size_t>(kind_of(command))];
  const auto& loops = loops_[unroller];
  const Loop& of = loops[static_cast<size_t>(loop) % loops.size()];
  entry(id).index = of.index;
  entry(id).held_back_from = of.started;
}

void Recorder::enter(Id id, const Operation& operation, const Command& command, Cycle now) {
  Entry& entry = this->entry(id);
  const Queue queue = operation.queue;
  entry = Entry{};
  entry.sequence = sequence_++;
  entry.index = index_;
  entry.command = command;
  entry.queue = queue;
  if (sink_) entry.rows = touched_rows(operation);
  entry.entered = entry.held_back_from = now;
  entry.released.fill(now + 1);
  entry.lane = queue == Queue::kLoad       ? Lane::kLoad
               : queue == Queue::kStore    ? Lane::kStore
               : command.funct == kPreload ? Lane::kPreload
                                           : Lane::kExecute;
}

void Recorder::waited(Id id, Id for_id, Cycle when) {
  Entry& entry = this->entry(id);
  const Entry& other = this->entry(for_id);
  if (when + 1 > *std::max_element(entry.released.begin(), entry.released.end())) {
    entry.waited_for = other.queue;
    entry.waited_for_index = other.index;
  }
  Cycle& released = entry.released[static_cast<size_t>(other.queue)];
  released = std::max(released, when + 1);
}

void Recorder::completes(Id id, Cycle issued, Cycle when) {
  Entry& entry = this->entry(id);
  entry.issued = issued;
  entry.completed = when;
  if (!sink_) return;
  if (entry.from == kNever) {
    // Configuration of loads and stores, which takes effect as it is issued.
    entry.from = issued;
    entry.to = issued + 1;
  }
  emit(slice_of(entry, entry.lane, entry.from, entry.to));
  if (entry.dma_from < entry.dma_to) {
    const Lane lane = entry.queue == Queue::kLoad ? Lane::kDmaRead : Lane::kDmaWrite;
    emit(slice_of(entry, lane, entry.dma_from, entry.dma_to));
  }
}

void Recorder::works(Id id, Cycle from, Cycle to) {
  entry(id).from = from;
  entry(id).to = to;
}

void Recorder::transfers(Id id, Cycle from, Cycle to) {
  entry(id).dma_from = from;
  entry(id).dma_to = to;
}

void Recorder::starts_run(Id head, Id follower, Cycle start) {
  wait_for(entry(head));
  if (follower >= 0) wait_for(entry(follower));
  account(Reason::kDependency, start);
}

void Recorder::ends_run(Id compute, Id preload, Cycle start, Cycle rows, Cycle end) {
  if (compute >= 0) works(compute, start, end);
  if (preload >= 0) works(preload, start, end);
  accounting_.run(rows, end);
  Slice slice{Lane::kArray, start, end};
  slice.lost = end - start - rows;
  emit(slice);
}

void Recorder::second_pass(Cycle start, Cycle end) {
  account(Reason::kDependency, start);
  account(Reason::kArrayBusy, end);
}

void Recorder::wait_for_host(Cycle until) {
  while (!holds_.empty() && holds_.front().from < until) {
    const Hold& hold = holds_.front();
    account(Reason::kHostIssue, hold.from);
    account(hold.reason, std::min(hold.to, until));
    if (hold.to > until) return;
    holds_.pop_front();
  }
  account(Reason::kHostIssue, until);
}

void Recorder::wait_for(const Entry& entry) {
  // A unit sees what happens in the reservation station so much later.
  constexpr Cycle kDelay = kExecuteQueueStages;
  const auto released = [&](Queue queue) {
    return entry.released[static_cast<size_t>(queue)] + kDelay;
  };
  if (entry.held_back_from < entry.entered) {
    wait_for_host(entry.held_back_from);
    account(Reason::kLoads, entry.entered);
  } else {
    wait_for_host(entry.entered);
  }
  account(Reason::kHostIssue, entry.entered + 1 + kDelay);
  account(Reason::kLoads, released(Queue::kLoad));
  account(Reason::kStores, released(Queue::kStore));
}

void Recorder::fence(Cycle last_left, Cycle last_acknowledged, Cycle end) {
  wait_for_host(last_left + 1);
  holds_.clear();
  std::vector<const Entry*> open;
  for (const Entry& entry : entries_) {
    if (entry.completed != kNever && entry.completed >= accounting_.cursor()) {
      open.push_back(&entry);
    }
  }
  std::sort(open.begin(), open.end(),
            [](const Entry* a, const Entry* b) { return a->sequence < b->sequence; });
  for (const Entry* entry : open) {
    const bool is_array = entry->queue == Queue::kExecute;
    account(is_array ? Reason::kDrain : reason_of(entry->queue), entry->completed + 1);
  }
  account(Reason::kStores, last_acknowledged + 1);
  account(Reason::kDrain, end);
  finished_ = accounting_.cycles();
  finished_issued_ = std::exchange(issued_, Counts{});
  finished_unrolled_ = std::exchange(unrolled_, Counts{});
  accounting_.begin(end);
  index_ = -1;
}

void Recorder::account(Reason reason, Cycle until) {
  const Cycle start = accounting_.cursor();
  if (accounting_.until(reason, until) == 0) return;
  Slice slice{Lane::kArray, start, until};
  slice.reason = reason;
  emit(slice);
}

void Recorder::emit(Slice slice) const {
  if (!sink_ || slice.start < origin_) return;
  for (Cycle* cycle :
       {&slice.start, &slice.end, &slice.entered, &slice.ready, &slice.issued, &slice.completed}) {
    *cycle -= origin_;
  }
  if (slice.start < to_ && slice.end > from_) sink_(slice);
}

Slice Recorder::slice_of(const Entry& entry, Lane lane, Cycle start, Cycle end) {
  Slice slice{lane, start, end, entry.command, entry.index};
  slice.entered = entry.entered;
  slice.ready = *std::max_element(entry.released.begin(), entry.released.end());
  slice.issued = entry.issued;
  slice.completed = entry.completed;
  slice.waited_for = entry.waited_for;
  slice.waited_for_index = entry.waited_for_index;
  slice.rows = entry.rows;
  return slice;
}

}  // namespace npu::gemmini::timing
