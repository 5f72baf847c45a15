#include "gemmini/simulator/timing/store.h"

#include <algorithm>

#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {
namespace {

// Array results are known this long before they reach the accumulator, and DMA writes almost.
constexpr Cycle kStoreStepCycles = 16;

}  // namespace

StoreUnit::StoreUnit(const Config& config, ReservationStation& station, L2& l2,
                     const PortCalendar& spad_writes, const PortCalendar& spad_reads,
                     const PortCalendar& acc_reads)
    : dim_("dim", config.dim),
      spad_bank_rows_("spad_bank_rows", config.spad_bank_rows),
      acc_bank_rows_("acc_bank_rows", config.acc_bank_rows),
      acc_scale_latency_(config.acc_scale_latency_cycles),
      station_(station),
      spad_writes_(spad_writes),
      spad_reads_(spad_reads),
      acc_reads_(acc_reads),
      writer_(config, l2),
      in_flight_(kStoresInFlight),
      write_queue_(config.store_write_queue_entries),
      acc_ahead_(kStoreAccRowsAhead),
      spad_ahead_(kStoreSpadRowsAhead) {}

Cycle StoreUnit::next_step() const {
  if (id_ != ReservationStation::kNone) return next_dispatch_;
  const ReservationStation::Id next = station_.pending(Queue::kStore, 0);
  if (next == ReservationStation::kNone || station_.issued(next) == kNever) return kNever;
  return std::max(
      {station_.issued(next) + kStoreQueueStages, next_dispatch_, in_flight_.earliest()});
}

void StoreUnit::begin(Cycle now) {
  id_ = station_.take(Queue::kStore);
  store_ = station_.operation(id_).store;
  row_ = col_ = block_ = window_col_ = 0;
  begun_ = next_dispatch_ = now;
  first_accepted_ = kNever;
  blocks_per_row_ = std::max<int64_t>(1, dim_.divide_up(store_.cols));
  rows_left_ = store_.pool_stride != 0 ? store_.pool_out_rows * store_.pool_out_cols : store_.rows;
}

StoreUnit::Block StoreUnit::next_block() {
  if (store_.pool_stride != 0) return next_pooled_block();
  const Block block = {true, block_ == blocks_per_row_ - 1,
                       store_.first_row + row_ + block_ * dim_.value(),
                       store_.dram_address + static_cast<uint64_t>(row_) * store_.stride_bytes,
                       store_.cols * store_.element_bytes};
  if (block.ends_row) {
    ++row_;
    block_ = 0;
  } else {
    ++block_;
  }
  return block;
}

StoreUnit::Block StoreUnit::next_pooled_block() {
  const int64_t row = row_ * store_.pool_stride + block_ - store_.pool_upper_pad;
  const int64_t col = col_ * store_.pool_stride + window_col_ - store_.pool_left_pad;
  const int64_t last = std::max<int64_t>(1, store_.pool_window) - 1;
  const int64_t out = row_ * store_.pool_dram_row_pixels + col_;
  const Block block = {
      row >= 0 && row < store_.pool_in_rows && col >= 0 && col < store_.pool_in_cols,
      block_ == last && window_col_ == last, store_.first_row + row * store_.pool_in_cols + col,
      store_.dram_address + static_cast<uint64_t>(out) * store_.stride_bytes, store_.cols};
  if (window_col_ < last) {
    ++window_col_;
  } else if (window_col_ = 0; block_ < last) {
    ++block_;
  } else if (block_ = 0; col_ + 1 < store_.pool_out_cols) {
    ++col_;
  } else {
    col_ = 0;
    ++row_;
  }
  return block;
}

Cycle StoreUnit::read(const Block& block, Cycle earliest) const {
  if (!block.is_read) return earliest;
  if (store_.is_acc) {
    return acc_reads_.first_free(BankMask{1} << (acc_bank_rows_.divide(block.sram_row)), earliest);
  }
  const BankMask bank = BankMask{1} << (spad_bank_rows_.divide(block.sram_row));
  for (Cycle at = earliest;;) {
    const Cycle free = spad_reads_.first_free(bank, spad_writes_.first_free(bank, at));
    if (free == spad_writes_.first_free(bank, free)) return free;
    at = free;
  }
}

void StoreUnit::step(Cycle now) {
  if (id_ == ReservationStation::kNone) begin(now);
  InFlight& ahead = store_.is_acc ? acc_ahead_ : spad_ahead_;
  const Cycle read_stages = store_.is_acc ? kStoreAccReadStages : kStoreSpadReadStages;
  const Cycle latency = store_.is_acc ? acc_scale_latency_ : kStoreSpadPipeStages;
  while (rows_left_ != 0 && next_dispatch_ < now + kStoreStepCycles) {
    const Block block = next_block();
    last_read_ = read(
        block, std::max({next_dispatch_ + kStoreDispatchStages, last_read_ + 1, ahead.earliest()}));
    last_entered_ =
        std::max({last_read_ + read_stages, last_entered_ + 1, write_queue_.earliest() - 1});
    ahead.push(last_entered_ - 1);
    const Cycle accepted = std::max(last_entered_ + latency, writer_.ready());
    write_queue_.push(accepted);
    writer_.accept(accepted);
    first_accepted_ = std::min(first_accepted_, accepted);
    if (block.ends_row) {
      writer_.send(block.dram_address, block.row_bytes, accepted);
      bytes_stored_ += block.row_bytes;
      --rows_left_;
    }
    next_dispatch_ = std::max(next_dispatch_ + 1, last_read_ - kStoreDispatchStages);
  }
  if (rows_left_ == 0) {
    // A command of no rows completes as soon as it begins.
    const Cycle completed = std::max(now, last_read_ + 1);
    in_flight_.push(completed);
    if (Recorder* recorder = station_.recorder()) {
      recorder->works(id_, begun_, std::max(next_dispatch_, begun_ + 1));
      recorder->transfers(id_, first_accepted_, writer_.last_acknowledged() + 1);
    }
    station_.complete(Queue::kStore, id_, completed);
    id_ = ReservationStation::kNone;
  }
}

}  // namespace npu::gemmini::timing
