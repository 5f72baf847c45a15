#include "store.h"

#include <algorithm>

#include "stages.h"

namespace npu::sim::timing {
namespace {

// Array results are known this long before they reach the accumulator, and DMA writes almost.
constexpr Cycle kStepCycles = 16;

}  // namespace

StoreUnit::StoreUnit(const Config& config, ReservationStation& station, L2& l2,
                     const PortCalendar& spad_writes, const PortCalendar& spad_reads,
                     const PortCalendar& acc_reads)
    : config_(config),
      station_(station),
      spad_writes_(spad_writes),
      spad_reads_(spad_reads),
      acc_reads_(acc_reads),
      writer_(config, l2),
      in_flight_(kStoresInFlight),
      write_queue_(config.store_write_queue_entries),
      acc_ahead_(kStoreAccRowsAhead),
      spad_ahead_(kStoreSpadRowsAhead) {}

Cycle StoreUnit::next_step() {
  if (id_ != ReservationStation::kNone) return next_dispatch_;
  const ReservationStation::Entry* next = station_.pending(Queue::kStore, 0);
  if (next == nullptr || next->issued == kNever) return kNever;
  return std::max({next->issued + kStoreQueueStages, next_dispatch_, in_flight_.earliest()});
}

void StoreUnit::begin(Cycle now) {
  id_ = station_.take(Queue::kStore);
  store_ = station_.entry(id_).operation.store;
  next_block_ = 0;
  next_dispatch_ = now;
  if (store_.pool_stride != 0) {
    blocks_per_row_ = store_.pool_window * store_.pool_window;
    blocks_ = store_.pool_out_rows * store_.pool_out_cols * blocks_per_row_;
  } else {
    blocks_per_row_ = ceil_div(store_.cols, config_.dim);
    blocks_ = store_.rows * blocks_per_row_;
  }
}

StoreUnit::Block StoreUnit::block_at(int64_t index) const {
  if (store_.pool_stride != 0) return pooled_block_at(index);
  const int64_t row = index / blocks_per_row_;
  const int64_t block = index % blocks_per_row_;
  return {true, block == blocks_per_row_ - 1, store_.first_row + row + block * config_.dim,
          store_.dram_address + static_cast<uint64_t>(row) * store_.stride_bytes,
          store_.cols * store_.element_bytes};
}

StoreUnit::Block StoreUnit::pooled_block_at(int64_t index) const {
  const int64_t element = index % blocks_per_row_;
  const int64_t pixel = index / blocks_per_row_;
  const int64_t out_row = pixel / store_.pool_out_cols;
  const int64_t out_col = pixel % store_.pool_out_cols;
  const int64_t row =
      out_row * store_.pool_stride + element / store_.pool_window - store_.pool_upper_pad;
  const int64_t col =
      out_col * store_.pool_stride + element % store_.pool_window - store_.pool_left_pad;
  const bool is_inside =
      row >= 0 && row < store_.pool_in_rows && col >= 0 && col < store_.pool_in_cols;
  const int64_t out = out_row * store_.pool_dram_row_pixels + out_col;
  return {is_inside, element == blocks_per_row_ - 1,
          store_.first_row + row * store_.pool_in_cols + col,
          store_.dram_address + static_cast<uint64_t>(out) * store_.stride_bytes, store_.cols};
}

Cycle StoreUnit::read(const Block& block, Cycle earliest) const {
  if (!block.is_read) return earliest;
  if (store_.is_acc) {
    return acc_reads_.first_free(BankMask{1} << (block.sram_row / config_.acc_bank_rows), earliest);
  }
  const BankMask bank = BankMask{1} << (block.sram_row / config_.spad_bank_rows);
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
  const Cycle latency = store_.is_acc ? config_.acc_scale_latency_cycles : kStoreSpadPipeStages;
  while (next_block_ < blocks_ && next_dispatch_ < now + kStepCycles) {
    const Block block = block_at(next_block_++);
    last_read_ = read(
        block, std::max({next_dispatch_ + kStoreDispatchStages, last_read_ + 1, ahead.earliest()}));
    last_entered_ =
        std::max({last_read_ + read_stages, last_entered_ + 1, write_queue_.earliest() - 1});
    ahead.push(last_entered_ - 1);
    const Cycle accepted = std::max(last_entered_ + latency, writer_.ready());
    write_queue_.push(accepted);
    writer_.accept(accepted);
    if (block.ends_row) {
      writer_.send(block.dram_address, block.row_bytes, accepted);
      bytes_stored_ += block.row_bytes;
    }
    next_dispatch_ = std::max(next_dispatch_ + 1, last_read_ - kStoreDispatchStages);
  }
  if (next_block_ == blocks_) {
    in_flight_.push(last_read_ + 1);
    station_.complete(id_, last_read_ + 1);
    id_ = ReservationStation::kNone;
  }
}

}  // namespace npu::sim::timing
