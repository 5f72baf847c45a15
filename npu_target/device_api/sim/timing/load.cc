#include "load.h"

#include <algorithm>

namespace npu::sim::timing {

LoadUnit::LoadUnit(const Config& config, ReservationStation& station, L2& l2,
                   PortCalendar& spad_writes, PortCalendar& acc_reads)
    : config_(config),
      station_(station),
      spad_writes_(spad_writes),
      acc_reads_(acc_reads),
      reader_(config, l2),
      in_flight_(config.loads_in_flight) {}

Cycle LoadUnit::next_step() {
  const ReservationStation::Entry* next = station_.pending(Queue::kLoad, 0);
  if (next == nullptr || next->issued == kNever) return kNever;
  return std::max({next->issued + kLoadQueueStages, controller_free_, in_flight_.earliest()});
}

void LoadUnit::step(Cycle now) {
  const ReservationStation::Id id = station_.take(Queue::kLoad);
  const LoadOperation& load = station_.entry(id).operation.load;
  const Cycle last_write = load.dram_address == 0 ? run_zeros(load, now) : run_reads(load, now);
  in_flight_.push(last_write + 1);
  station_.complete(id, last_write + 1);
}

Cycle LoadUnit::run_zeros(const LoadOperation& load, Cycle start) {
  const int64_t blocks = ceil_div(load.cols, config_.dim);
  Cycle write = std::max(start, zero_writer_free_) + kZeroWriteStages;
  for (int64_t row = 0; row < load.rows; ++row) {
    for (int64_t block = 0; block < blocks; ++block) {
      write_row(load, row, block, write, write + load.pixel_repeats);
      write += load.pixel_repeats;
    }
  }
  zero_writer_free_ = write - kZeroWriteStages;
  controller_free_ = zero_writer_free_;
  return write - 1;
}

Cycle LoadUnit::run_reads(const LoadOperation& load, Cycle start) {
  const bool repeats_one_row = load.stride_bytes == 0;
  const int64_t rows_read = repeats_one_row ? 1 : load.rows;
  DmaReader::Row row{};
  row.bytes = load.cols * load.element_bytes;
  row.bytes_per_sram_row = config_.dim * load.element_bytes;
  row.writes_per_sram_row = load.pixel_repeats * (repeats_one_row ? load.rows : 1);
  row.is_scaled = load.is_scaled;
  bytes_loaded_ += rows_read * row.bytes;

  Cycle last_write = start;
  Cycle last_sent = start;
  for (int64_t i = 0; i < rows_read; ++i) {
    row.address = load.dram_address + static_cast<uint64_t>(i) * load.stride_bytes;
    last_sent =
        reader_.read(row, start + i + kLoadRequestStages, [&](int64_t block, Cycle from, Cycle to) {
          write_row(load, i, block, from, to);
          last_write = to - 1;
        });
  }
  // A command of one row still spends a cycle in each of two states.
  controller_free_ = std::max(
      {start + rows_read, start + 2, last_sent - kLoadRequestStages - kLoadRequestQueueRows});
  return last_write;
}

void LoadUnit::write_row(const LoadOperation& load, int64_t row, int64_t block, Cycle start,
                         Cycle end) {
  const int64_t to = load.first_row + row + block * load.block_stride_rows;
  if (!load.is_acc) {
    spad_writes_.take(BankMask{1} << (to / config_.spad_bank_rows), start, end);
  } else if (load.accumulates) {
    acc_reads_.take(BankMask{1} << (to / config_.acc_bank_rows), start, end);
  }
}

}  // namespace npu::sim::timing
