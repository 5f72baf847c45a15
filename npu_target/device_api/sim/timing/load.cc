#include "load.h"

#include <algorithm>

#include "stages.h"

namespace npu::sim::timing {

LoadUnit::LoadUnit(const Config& config, ReservationStation& station, L2& l2,
                   PortCalendar& spad_writes, PortCalendar& acc_reads)
    : dim_("dim", config.dim),
      spad_bank_rows_("spad_bank_rows", config.spad_bank_rows),
      acc_bank_rows_("acc_bank_rows", config.acc_bank_rows),
      station_(station),
      spad_writes_(spad_writes),
      acc_reads_(acc_reads),
      reader_(config, l2),
      in_flight_(config.loads_in_flight) {}

Cycle LoadUnit::next_step() const {
  const ReservationStation::Id next = station_.pending(Queue::kLoad, 0);
  if (next == ReservationStation::kNone || station_.issued(next) == kNever) return kNever;
  return std::max(
      {station_.issued(next) + kLoadQueueStages, controller_free_, in_flight_.earliest()});
}

void LoadUnit::step(Cycle now) {
  const ReservationStation::Id id = station_.take(Queue::kLoad);
  const LoadOperation& load = station_.operation(id).load;
  const Cycle last_write = load.dram_address == 0 ? run_zeros(load, now) : run_reads(load, now);
  in_flight_.push(last_write + 1);
  if (Recorder* recorder = station_.recorder()) {
    recorder->works(id, now, controller_free_);
    if (load.dram_address != 0) {
      recorder->transfers(id, now + kLoadRequestStages, last_write + 1);
    }
  }
  station_.complete(Queue::kLoad, id, last_write + 1);
}

void LoadUnit::take(PortCalendar& ports, const PowerOfTwo& bank_rows, int64_t first, int64_t last,
                    Cycle start, Cycle end) {
  const BankMask first_bank = BankMask{1} << bank_rows.divide(first);
  const BankMask last_bank = BankMask{1} << bank_rows.divide(last);
  // Blocks that lie in several banks (a block stride that leads there) are shared out evenly.
  if (first_bank == last_bank) {
    ports.take(first_bank, start, end);
  } else {
    const Cycle middle = start + (end - start + 1) / 2;
    ports.take(first_bank, start, middle);
    ports.take(last_bank, middle, end);
  }
}

void LoadUnit::take_ports(const LoadOperation& load, int64_t row, int64_t first_block,
                          int64_t last_block, Cycle start, Cycle end) {
  const int64_t first = load.first_row + row + first_block * load.block_stride_rows;
  const int64_t last = load.first_row + row + last_block * load.block_stride_rows;
  if (load.is_acc) {
    // Only accumulating data read the bank too; plain writes have a port of their own.
    if (load.accumulates) take(acc_reads_, acc_bank_rows_, first, last, start, end);
  } else {
    take(spad_writes_, spad_bank_rows_, first, last, start, end);
  }
}

Cycle LoadUnit::run_zeros(const LoadOperation& load, Cycle start) {
  const int64_t blocks = dim_.divide_up(load.cols);
  Cycle write = std::max(start, zero_writer_free_) + kZeroWriteStages;
  for (int64_t row = 0; row < load.rows; ++row) {
    take_ports(load, row, 0, blocks - 1, write, write + blocks * load.pixel_repeats);
    write += blocks * load.pixel_repeats;
  }
  zero_writer_free_ = write - kZeroWriteStages;
  controller_free_ = zero_writer_free_;
  return write - 1;
}

LoadUnit::Last LoadUnit::run_rows(const LoadOperation& load, DmaReader::Row row, int64_t count,
                                  Cycle start) {
  Last last = {start, start};
  const Cycle earliest = start + kLoadRequestStages;
  const int64_t last_row = load.rows - 1 + (dim_.divide_up(load.cols) - 1) * load.block_stride_rows;
  if (count > 1 && !load.is_acc &&
      spad_bank_rows_.divide(load.first_row) == spad_bank_rows_.divide(load.first_row + last_row)) {
    if (const std::optional<Packet> packet = reader_.packet_of_each(row, load.stride_bytes)) {
      const BankMask bank = BankMask{1} << spad_bank_rows_.divide(load.first_row);
      // Most rows follow the one before at once: one span in the calendar, written down at its end.
      Cycle span_start = earliest;
      last.write = span_start - 1;
      last.sent =
          reader_.read_each(*packet, load.stride_bytes, count, earliest, [&](Cycle from, Cycle to) {
            if (from != last.write + 1) {
              spad_writes_.take(bank, span_start, last.write + 1);
              span_start = from;
            }
            last.write = to - 1;
          });
      spad_writes_.take(bank, span_start, last.write + 1);
      return last;
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    last.sent = reader_.read(row, earliest + i,
                             [&](int64_t first_block, int64_t last_block, Cycle from, Cycle to) {
                               take_ports(load, i, first_block, last_block, from, to);
                               last.write = to - 1;
                             });
    row.address += load.stride_bytes;
  }
  return last;
}

Cycle LoadUnit::run_reads(const LoadOperation& load, Cycle start) {
  const bool repeats_one_row = load.stride_bytes == 0;
  const int64_t rows_read = repeats_one_row ? 1 : load.rows;
  DmaReader::Row row{};
  row.address = load.dram_address;
  row.bytes = load.cols * load.element_bytes;
  row.bytes_per_sram_row = dim_.value() * load.element_bytes;
  row.writes_per_sram_row = load.pixel_repeats * (repeats_one_row ? load.rows : 1);
  row.is_scaled = load.is_scaled;
  bytes_loaded_ += rows_read * row.bytes;

  const auto [last_sent, last_write] = run_rows(load, row, rows_read, start);
  // A command of one row still spends a cycle in each of two states.
  controller_free_ = std::max(
      {start + rows_read, start + 2, last_sent - kLoadRequestStages - kLoadRequestQueueRows});
  return last_write;
}

}  // namespace npu::sim::timing
