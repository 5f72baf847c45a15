#include "gemmini/simulator/races/race_checker.h"

#include <algorithm>
#include <string>

#include "sim/error.h"

namespace npu::gemmini::races {
namespace {

// For instance "bank 0", "banks 0, 1".
std::string text_of(BankMask banks) {
  std::string text;
  for (; banks != 0; banks &= banks - 1) {
    text += (text.empty() ? "" : ", ") + std::to_string(__builtin_ctzll(banks));
  }
  return (text.find(',') == std::string::npos ? "bank " : "banks ") + text;
}

}  // namespace

RaceChecker::RaceChecker(const Config& config)
    : rows_(config),
      dim_(config.dim),
      loads_(rows_.count()),
      array_reads_(rows_.count()),
      array_writes_(rows_.count()),
      store_reads_(rows_.count()),
      unsettled_(rows_.count()),
      results_(config.mesh_tag_queue_entries),
      sums_(config.dim),
      loop_order_(rows_) {}

void RaceChecker::fence() {
  times_.complete();
  loads_.forget();
  memory_.forget();
  unsettled_.forget();
  results_.clear();
  sums_.clear();
  loop_order_.fence();
  exposed_.forget();
  stores_.forget();
  unsure_parts_ = kAllParts;
  begins_time_ = true;
}

void RaceChecker::advance(Queue queue) {
  if (times_.now(queue) == INT32_MAX - 1) {
    // In numbers that are used up, what came before counts as complete.
    fence();
    times_.forget();
    array_reads_.forget();
    array_writes_.forget();
    store_reads_.forget();
  }
  times_.set(queue, times_.now(queue) + 1);
}

void RaceChecker::wait_for(Queue queue, Queue other, int32_t other_time) {
  // What a command of `other` knew when it was issued is learned once.
  if (other_time <= times_.waited_for(queue, other)) return;
  times_.wait_for(queue, other, other_time);
  loads_.wait_for(queue, other, other_time, times_.now(queue));
}

void RaceChecker::check_result_under_way(const Span& rows, const Named& now) const {
  if (!has_result_ || !rows.overlaps(result_.rows)) return;
  fail(now, result_.preload,
       "it waits until " + rows_.text(result_.rows) +
           " have the result of a compute that comes behind it; let it come behind that compute");
}

// Whether a command of `other` used some of the rows later than what `queue` waits for.
bool RaceChecker::is_later(const RowTimes& uses, const Span& rows, Queue queue, Queue other) const {
  const int32_t known = times_.waited_for(queue, other);
  return uses.latest(rows, known) > known;
}

// For rows that some loads write unseen by the reservation station.
void RaceChecker::check_loads(Queue queue, const Span& rows, const Named& now) const {
  if (rows.is_empty()) return;
  if (const Load* load = loads_.unknown_writer(queue, rows)) {
    fail(now, load->name,
         "the reservation station does not see that they have some of " + rows_.text(rows) +
             " in common");
  }
}

void RaceChecker::expose(Queue queue, const Span& rows, const Named& now) {
  if (rows.is_empty()) return;
  check_loads(queue, rows, now);
  exposed_.add({now, rows, queue, times_.now(queue)}, times_);
}

void RaceChecker::check_exposed(Queue queue, const Span& rows, const Named& now) const {
  if (exposed_.is_empty()) return;
  if (const ExposedRows::Read* read = exposed_.unordered_with(queue, rows, times_)) {
    fail(now, read->reader,
         "the reservation station does not see that they have some of " + rows_.text(read->rows) +
             " in common");
  }
}

void RaceChecker::read_rows(const Span& rows, int64_t step, const Named& now) const {
  if (unsettled_.is_empty()) return;
  const auto found = unsettled_.find(rows, step);
  if (!found) return;
  throw sim::SimError(
      sim::ErrorKind::kRace, now.index,
      races::text(now) + ": needs an order between the loads of " +
          rows_.text({found->row, found->row + 1}) + ", has none: " +
          races::text(found->loads.first) + " and " + races::text(found->loads.second) +
          " begin in this order but end in any; between them needs to come a command "
          "of another queue that uses rows of the first and of the second");
}

template <typename Visit>
void RaceChecker::for_each_read(const timing::StoreOperation& store, Visit visit) const {
  const int64_t first = store.first_row + rows_.begin(store.is_acc);
  if (store.pool_stride != 0) {
    store.for_each_pooled_row([&](int64_t row) { visit(Span{first + row, first + row + 1}); });
    return;
  }
  for (int64_t col = 0; col < store.cols; col += dim_) {
    visit(Span{first + col, first + col + store.rows});
  }
}

Load RaceChecker::load_of(const timing::Operation& operation, const Named& now) const {
  const timing::LoadOperation& op = operation.load;
  Load load{};
  load.name = now;
  load.order = rows_.span(operation.first);
  load.parts = operation.parts;
  const int64_t first = op.first_row + rows_.begin(op.is_acc);
  const int64_t end = rows_.end(op.is_acc);
  // The hardware's loops load rows that do not exist, here and there.
  load.first_block = {first, std::min(first + op.rows, end)};
  load.block_stride_rows = op.block_stride_rows;
  load.blocks = (op.cols + dim_ - 1) / dim_;
  while (load.blocks > 1 && load.block(load.blocks - 1).end > end) --load.blocks;
  load.accumulates = op.accumulates;
  // With pixel repeats the reservation station moves the end of the range with its start.
  if (op.pixel_repeats > 1) load.order.end -= first - load.order.start;
  if (op.dram_address != 0) {
    load.source = {op.dram_address, op.stride_bytes, static_cast<uint64_t>(op.rows),
                   static_cast<uint64_t>(op.cols * op.element_bytes)};
  }
  // A row of data takes another bank's zeros with it unless it is the last of its DMA request.
  const bool is_last = op.cols <= dim_ && (op.stride_bytes != 0 || op.rows == 1);
  if (op.is_acc && (op.dram_address == 0 || !is_last)) {
    BankMask& banks = op.dram_address == 0 ? load.zero_banks : load.data_banks;
    for (int64_t i = 0; i < load.blocks; ++i) banks |= rows_.acc_banks(load.block(i));
  }
  return load;
}

void RaceChecker::fail_mixed(const Load& load, const Load& older) const {
  const bool brings_zeros = touch_two(load.zero_banks, older.data_banks);
  const Load& zeros = brings_zeros ? load : older;
  const Load& data = brings_zeros ? older : load;
  fail(load.name, older.name,
       "zeros into " + text_of(zeros.zero_banks) + " of the accumulator while data come into " +
           text_of(data.data_banks) + ": the write port mixes their rows up");
}

void RaceChecker::load(const timing::Operation& operation, const Named& now) {
  advance(Queue::kLoad);
  const Load load = load_of(operation, now);
  const int32_t array_time = times_.waited_for(Queue::kLoad, Queue::kExecute);
  const int32_t store_time = times_.waited_for(Queue::kLoad, Queue::kStore);
  wait_for(Queue::kLoad, Queue::kExecute,
           array_writes_.latest(load.order, array_reads_.latest(load.order, array_time)));
  wait_for(Queue::kLoad, Queue::kStore, store_reads_.latest(load.order, store_time));
  if (const Load* older = loads_.mixed_with(load)) fail_mixed(load, *older);
  unsettled_.write(loads_, load);
  if (has_result_) {
    for (int64_t i = 0; i < load.blocks; ++i) check_result_under_way(load.block(i), now);
  }
  for (int64_t i = 0; i < load.blocks; ++i) check_exposed(Queue::kLoad, load.block(i), now);
  const Span tail{load.order.end, load.first_block.end};
  if (operation.load.pixel_repeats > 1 && !tail.is_empty()) {
    has_exposed_loads_ = true;
    needs_every_time_ = true;
    if (is_later(array_reads_, tail, Queue::kLoad, Queue::kExecute) ||
        is_later(array_writes_, tail, Queue::kLoad, Queue::kExecute) ||
        is_later(store_reads_, tail, Queue::kLoad, Queue::kStore)) {
      fail(now, "what used " + rows_.text(tail) + " before",
           "the reservation station does not see that pixel repeats write them too");
    }
  }
  memory_.load(load);
  loads_.add(load, times_.now(Queue::kLoad));
  unsure_parts_ |= unsettled_.is_empty() ? load.parts : kAllParts;
}

void RaceChecker::store(const timing::Operation& operation, const Named& now) {
  advance(Queue::kStore);
  const timing::StoreOperation& op = operation.store;
  Span order = rows_.span(operation.first);
  if (op.pool_stride != 0) order.end = rows_.pooled_order_end(order.start);
  const int32_t array_time = times_.waited_for(Queue::kStore, Queue::kExecute);
  loads_.wait_for_loads(Queue::kStore, order, times_.now(Queue::kStore));
  wait_for(Queue::kStore, Queue::kExecute, array_writes_.latest(order, array_time));
  store_reads_.use(order, times_.now(Queue::kStore));
  // A pooling MVOUT may be compared to its memory's end.
  const timing::RowParts parts = op.pool_stride != 0 ? kAllParts : operation.parts;
  stores_.add(times_.now(Queue::kStore), parts);
  unsure_parts_ |= parts;
  if (has_exposed_loads_) check_loads(Queue::kStore, order, now);
  if (has_result_) for_each_read(op, [&](const Span& rows) { check_result_under_way(rows, now); });
  if (!unsettled_.is_empty()) {
    for_each_read(op, [&](const Span& rows) { read_rows(rows, 1, now); });
  }
  if (op.pool_stride != 0) {
    const Span exposed{order.end, order.start + op.pooled_rows()};
    needs_every_time_ |= !exposed.is_empty();
    if (is_later(array_writes_, exposed, Queue::kStore, Queue::kExecute)) {
      fail(now, "what wrote " + rows_.text(exposed) + " before",
           "the reservation station does not see that windows reach beyond a bank's end");
    }
    expose(Queue::kStore, exposed, now);
  }
  memory_.store(op, now, loads_);
}

}  // namespace npu::gemmini::races
