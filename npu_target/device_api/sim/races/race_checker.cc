#include "race_checker.h"

#include <algorithm>

#include "error.h"

namespace npu::sim::races {
namespace {

// How far apart so many rows are that the reservation station compares as this range.
int64_t step_of(const timing::RowRange& range, int64_t rows) {
  return rows == 0 ? 1 : std::max<int64_t>(1, (range.end - range.start) / rows);
}

}  // namespace

RaceChecker::RaceChecker(const Config& config)
    : spad_rows_(config.spad_rows()),
      acc_rows_(config.acc_rows()),
      acc_bank_rows_(config.acc_bank_rows),
      dim_(config.dim),
      loads_(spad_rows_ + acc_rows_),
      array_reads_(spad_rows_ + acc_rows_),
      array_writes_(spad_rows_ + acc_rows_),
      store_reads_(spad_rows_ + acc_rows_),
      unsettled_(spad_rows_ + acc_rows_),
      results_(config.mesh_tag_queue_entries) {}

void RaceChecker::fence() {
  std::fill_n(times_, timing::kQueues, 0);
  for (auto& times : waited_for_) std::fill_n(times, timing::kQueues, 0);
  loads_.forget();
  array_reads_.forget();
  array_writes_.forget();
  store_reads_.forget();
  memory_.forget();
  unsettled_.forget();
  results_.clear();
  exposed_.clear();
}

Span RaceChecker::span(const timing::RowRange& range) const {
  if (range.start == timing::RowRange{}.start) return {};  // garbage
  const bool is_acc = range.start >= timing::RowRange::kAccBase;
  const int64_t offset = is_acc ? spad_rows_ - timing::RowRange::kAccBase : 0;
  const int64_t end = is_acc ? spad_rows_ + acc_rows_ : spad_rows_;
  const int64_t start = range.start + offset;
  // A range of no rows overlaps with those that its start is in.
  return {std::min(start, end), std::min(std::max(range.end + offset, start + 1), end)};
}

// A pooling MVOUT is compared from its first row to the end of its bank of the accumulator; from
// the last bank, to the end of the memory. Of the scratchpad, the address says whether that bank is
// the last; otherwise its end, which is of the accumulator, compares with nothing, and only the
// first row is seen.
int64_t RaceChecker::pooled_order_end(int64_t start) const {
  const bool is_acc = start >= spad_rows_;
  const int64_t bank = (is_acc ? start - spad_rows_ : start) / acc_bank_rows_;
  const int64_t banks = acc_rows_ / acc_bank_rows_;
  if ((bank + 1) % banks == 0) return is_acc ? spad_rows_ + acc_rows_ : spad_rows_;
  return is_acc ? spad_rows_ + (bank + 1) * acc_bank_rows_ : start + 1;
}

std::string RaceChecker::text(const Span& rows) const {
  const bool is_acc = rows.start >= spad_rows_;
  const int64_t first = is_acc ? spad_rows_ : 0;
  return "rows " + std::to_string(rows.start - first) + " to " +
         std::to_string(rows.end - 1 - first) + " of the " +
         (is_acc ? "accumulator" : "scratchpad");
}

void RaceChecker::wait_for(Queue queue, Queue other, int32_t other_time) {
  waited_for(queue, other) = std::max(waited_for(queue, other), other_time);
  loads_.wait_for(queue, other, other_time, time(queue));
}

void RaceChecker::execute(const timing::Operation& operation, const Named& now) {
  const Span first = span(operation.first);
  const Span second = span(operation.second);
  const Span exposed = exposed_operand(operation, second);
  needs_every_time_ |= !exposed.is_empty();
  ++array_commands_;
  const int32_t time_before = time(Queue::kExecute);
  const int64_t known_before = loads_.known(Queue::kExecute);
  int32_t& now_is = times_[static_cast<size_t>(Queue::kExecute)];
  ++now_is;
  loads_.wait_for_loads(Queue::kExecute, first, now_is);
  loads_.wait_for_loads(Queue::kExecute, second, now_is);
  if (operation.writes_first) {
    wait_for(Queue::kExecute, Queue::kStore, store_reads_.latest(first));
  }
  const bool knows_more = loads_.known(Queue::kExecute) != known_before;
  if (!knows_more && !needs_every_time_ && time_before != 0) now_is = time_before;
  if (has_exposed_loads_) {
    check_loads(Queue::kExecute, first, now);
    check_loads(Queue::kExecute, second, now);
  }
  array_reads_.use(second, time(Queue::kExecute));
  if (!unsettled_.is_empty()) read_rows(second, 1, now);
  expose(Queue::kExecute, exposed, now);
  if (operation.writes_first) {
    preload(operation, now, first);
  } else {
    array_reads_.use(first, time(Queue::kExecute));
    if (!unsettled_.is_empty()) {
      const timing::ArrayOperand& a = operation.execute.first;
      const int64_t lines = operation.execute.mode.is_a_transposed ? a.cols() : a.rows();
      read_rows(first, step_of(operation.first, lines), now);
    }
    run_array(operation, now);
  }
}

// B is in the PRELOAD or in the COMPUTE. Of what is transposed, the reservation station sees as
// many rows as it has afterwards.
Span RaceChecker::exposed_operand(const timing::Operation& operation, const Span& order) const {
  const timing::ArrayMode& mode = operation.execute.mode;
  if (!mode.is_b_transposed || mode.is_weight_stationary != operation.writes_first) return {};
  const timing::ArrayOperand& b =
      operation.writes_first ? operation.execute.first : operation.execute.second;
  if (b.is_garbage() || b.cols() <= b.rows()) return {};
  return {order.start + b.rows(), std::min(order.start + b.cols(), spad_rows_)};
}

void RaceChecker::preload(const timing::Operation& operation, const Named& now,
                          const Span& result) {
  if (!exposed_.empty()) check_exposed(Queue::kExecute, result, now);
  if (!unsettled_.is_empty() && !operation.execute.second.is_garbage()) {
    const int64_t step = step_of(operation.first, operation.execute.second.rows());
    if (operation.execute.accumulates) {
      read_rows(result, step, now);
    } else {
      unsettled_.settle(result, step);
    }
  }
  preload_operand_ = {span(operation.second), operation.execute.first.address()};
  result_.reset();
  if (operation.execute.second.is_garbage()) return;
  result_ = ArrayResult{now, result, operation.execute.second.address(), array_commands_};
}

void RaceChecker::run_array(const timing::Operation& compute, const Named& now) {
  if (!results_.is_empty()) {
    const ArrayResults::Operand operands[] = {
        preload_operand_,
        {span(compute.first), compute.execute.first.address()},
        {span(compute.second), compute.execute.second.address()},
    };
    if (const auto* unwritten = results_.read(operands, array_commands_)) {
      fail(now, unwritten->preload,
           "the array reads what it has not written yet of " + text(unwritten->rows) +
               "; it waits for a result only if an operand begins at the same row");
    }
  }
  if (!result_) return;
  // The PRELOAD completes when this result is there, so it knows what this command knows.
  array_reads_.use(preload_operand_.rows, time(Queue::kExecute));
  array_writes_.use(result_->rows, time(Queue::kExecute));
  if (result_->rows.start < spad_rows_) results_.add(*result_);
  result_.reset();
}

void RaceChecker::check_result_under_way(const Span& rows, const Named& now) const {
  if (!result_ || !rows.overlaps(result_->rows)) return;
  fail(now, result_->preload,
       "it waits until " + text(result_->rows) +
           " have the result of a compute that comes behind it; let it come behind that compute");
}

// For rows that some loads write unseen by the reservation station.
void RaceChecker::check_loads(Queue queue, const Span& rows, const Named& now) const {
  if (rows.is_empty()) return;
  if (const Load* load = loads_.unknown_writer(queue, rows)) {
    fail(
        now, load->name,
        "the reservation station does not see that they have some of " + text(rows) + " in common");
  }
}

void RaceChecker::expose(Queue queue, const Span& rows, const Named& now) {
  if (rows.is_empty()) return;
  check_loads(queue, rows, now);
  if (exposed_.size() >= most_exposed_) {
    const auto is_over = [&](const Exposed& exposed) {
      const int32_t time = exposed.time;
      return waited_for(Queue::kLoad, exposed.queue) >= time &&
             (exposed.queue == Queue::kExecute ||
              waited_for(Queue::kExecute, exposed.queue) >= time);
    };
    exposed_.erase(std::remove_if(exposed_.begin(), exposed_.end(), is_over), exposed_.end());
    most_exposed_ = std::max(kFewExposed, 2 * exposed_.size());
  }
  exposed_.push_back({now, rows, queue, time(queue)});
}

void RaceChecker::check_exposed(Queue queue, const Span& rows, const Named& now) const {
  for (const Exposed& exposed : exposed_) {
    if (exposed.queue == queue || !exposed.rows.overlaps(rows)) continue;
    if (exposed.time <= waited_for(queue, exposed.queue)) continue;
    fail(now, exposed.reader,
         "the reservation station does not see that they have some of " + text(exposed.rows) +
             " in common");
  }
}

void RaceChecker::read_rows(const Span& rows, int64_t step, const Named& now) const {
  const auto found = unsettled_.find(rows, step);
  if (!found) return;
  throw SimError(ErrorKind::kRace, now.index,
                 races::text(now) + ": needs an order between the loads of " +
                     text({found->row, found->row + 1}) + ", has none: " +
                     races::text(found->loads.first) + " and " + races::text(found->loads.second) +
                     " begin in this order but end in any; between them needs to come a command "
                     "of another queue that uses rows of the first and of the second");
}

template <typename Visit>
void RaceChecker::for_each_read(const timing::StoreOperation& store, Visit visit) const {
  const int64_t first = store.first_row + (store.is_acc ? spad_rows_ : 0);
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
  load.order = span(operation.first);
  const int64_t first = op.first_row + (op.is_acc ? spad_rows_ : 0);
  const int64_t end = op.is_acc ? spad_rows_ + acc_rows_ : spad_rows_;
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
  return load;
}

void RaceChecker::load(const timing::Operation& operation, const Named& now) {
  const Load load = load_of(operation, now);
  wait_for(Queue::kLoad, Queue::kExecute,
           std::max(array_reads_.latest(load.order), array_writes_.latest(load.order)));
  wait_for(Queue::kLoad, Queue::kStore, store_reads_.latest(load.order));
  unsettled_.write(loads_, load);
  if (result_) {
    for (int64_t i = 0; i < load.blocks; ++i) check_result_under_way(load.block(i), now);
  }
  if (!exposed_.empty()) {
    for (int64_t i = 0; i < load.blocks; ++i) check_exposed(Queue::kLoad, load.block(i), now);
  }
  const Span tail{load.order.end, load.first_block.end};
  if (operation.load.pixel_repeats > 1 && !tail.is_empty()) {
    has_exposed_loads_ = true;
    needs_every_time_ = true;
    if (std::max(array_reads_.latest(tail), array_writes_.latest(tail)) >
            waited_for(Queue::kLoad, Queue::kExecute) ||
        store_reads_.latest(tail) > waited_for(Queue::kLoad, Queue::kStore)) {
      fail(now, "what used " + text(tail) + " before",
           "the reservation station does not see that pixel repeats write them too");
    }
  }
  memory_.load(load);
  loads_.add(load, time(Queue::kLoad));
}

void RaceChecker::store(const timing::Operation& operation, const Named& now) {
  const timing::StoreOperation& op = operation.store;
  Span order = span(operation.first);
  if (op.pool_stride != 0) order.end = pooled_order_end(order.start);
  loads_.wait_for_loads(Queue::kStore, order, time(Queue::kStore));
  wait_for(Queue::kStore, Queue::kExecute, array_writes_.latest(order));
  store_reads_.use(order, time(Queue::kStore));
  if (has_exposed_loads_) check_loads(Queue::kStore, order, now);
  if (result_) for_each_read(op, [&](const Span& rows) { check_result_under_way(rows, now); });
  if (!unsettled_.is_empty()) {
    for_each_read(op, [&](const Span& rows) { read_rows(rows, 1, now); });
  }
  if (op.pool_stride != 0) {
    const Span exposed{order.end, order.start + op.pooled_rows()};
    needs_every_time_ |= !exposed.is_empty();
    if (array_writes_.latest(exposed) > waited_for(Queue::kStore, Queue::kExecute)) {
      fail(now, "what wrote " + text(exposed) + " before",
           "the reservation station does not see that windows reach beyond a bank's end");
    }
    expose(Queue::kStore, exposed, now);
  }
  memory_.store(op, now, loads_);
}

}  // namespace npu::sim::races
