#include "gemmini/simulator/timing/load.h"

#include <algorithm>
#include <utility>

#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {
namespace {

// As far as a step looks ahead of when it begins, and the next one begins before that: array reads
// ask for the ports of the cycles that follow.
constexpr Cycle kLoadStepCycles = 64;
constexpr Cycle kLoadLeadCycles = 16;

}  // namespace

LoadUnit::LoadUnit(const Config& config, ReservationStation& station, L2& l2,
                   PortCalendar& spad_writes, PortCalendar& acc_reads,
                   const PortCalendar& acc_writes)
    : dim_("dim", config.dim),
      spad_bank_rows_("spad_bank_rows", config.spad_bank_rows),
      acc_bank_rows_("acc_bank_rows", config.acc_bank_rows),
      station_(station),
      spad_writes_(spad_writes),
      acc_reads_(acc_reads),
      acc_writes_(acc_writes),
      reader_(config, l2),
      in_flight_(config.loads_in_flight) {}

Cycle LoadUnit::next_step() const {
  const Cycle late = next_late_write();
  if (id_ != ReservationStation::kNone) return std::min(late, last_sent_ - kLoadLeadCycles);
  const ReservationStation::Id next = station_.pending(Queue::kLoad, 0);
  if (next == ReservationStation::kNone || station_.issued(next) == kNever) return late;
  return std::min(late, std::max({station_.issued(next) + kLoadQueueStages, controller_free_,
                                  in_flight_.earliest()}));
}

Cycle LoadUnit::next_late_write() const {
  if (late_.empty()) return kNever;
  const LateLoad& late = late_.front();
  const Arrival& arrival = late.arrivals[late.next];
  return std::max(arrival.from + arrival.written, late_free_) - kLoadLeadCycles;
}

void LoadUnit::write_late(Cycle now) {
  LateLoad& late = late_.front();
  const LoadOperation& load = station_.operation(late.id).load;
  for (; late.next < late.arrivals.size(); ++late.next) {
    Arrival& arrival = late.arrivals[late.next];
    for (; arrival.written < arrival.cycles; ++arrival.written) {
      const int64_t block = arrival.first_block + arrival.written * arrival.blocks / arrival.cycles;
      Cycle at = std::max(arrival.from + arrival.written, late_free_);
      if (load.is_acc) {
        const int64_t row = load.first_row + arrival.row + block * load.block_stride_rows;
        at = acc_writes_.first_free(BankMask{1} << acc_bank_rows_.divide(row), at);
      }
      late_free_ = at;
      if (at > now + kLoadLeadCycles) return;
      take_ports(load, arrival.row, block, block, at, at + 1);
      late_free_ = at + 1;
    }
  }
  in_flight_.give_back(late_free_);
  if (Recorder* recorder = station_.recorder()) {
    recorder->transfers(late.id, late.begun + kLoadRequestStages, late_free_);
  }
  station_.complete(Queue::kLoad, late.id, late_free_);
  late_.pop_front();
}

void LoadUnit::step(Cycle now) {
  if (next_late_write() <= now) {
    write_late(now);
    return;
  }
  if (id_ == ReservationStation::kNone) {
    id_ = station_.take(Queue::kLoad);
    in_flight_.take();
    begun_ = now;
    const LoadOperation& load = station_.operation(id_).load;
    if (load.dram_address == 0) {
      end(run_zeros(load, now));
      return;
    }
    begin_reads(load);
  }
  run_reads(station_.operation(id_).load, now + kLoadStepCycles);
  if (next_row_ < rows_) return;
  // A command of one row still spends a cycle in each of two states.
  controller_free_ = std::max(
      {begun_ + rows_, begun_ + 2, last_sent_ - kLoadRequestStages - kLoadRequestQueueRows});
  if (late_arrivals_.empty()) {
    end(last_write_);
    return;
  }
  if (Recorder* recorder = station_.recorder()) recorder->works(id_, begun_, controller_free_);
  late_.push_back({id_, begun_, std::move(late_arrivals_)});
  late_arrivals_.clear();
  id_ = ReservationStation::kNone;
}

void LoadUnit::end(Cycle last_write) {
  in_flight_.give_back(last_write + 1);
  if (Recorder* recorder = station_.recorder()) {
    recorder->works(id_, begun_, controller_free_);
    if (station_.operation(id_).load.dram_address != 0) {
      recorder->transfers(id_, begun_ + kLoadRequestStages, last_write + 1);
    }
  }
  station_.complete(Queue::kLoad, id_, last_write + 1);
  id_ = ReservationStation::kNone;
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
  // Not before the data of older loads: a row that ends its request goes first.
  Cycle write = std::max(std::max(start, zero_writer_free_) + kZeroWriteStages, last_write_);
  for (int64_t row = 0; row < load.rows; ++row) {
    take_ports(load, row, 0, blocks - 1, write, write + blocks * load.pixel_repeats);
    write += blocks * load.pixel_repeats;
  }
  zero_writer_free_ = write - kZeroWriteStages;
  controller_free_ = zero_writer_free_;
  return write - 1;
}

void LoadUnit::begin_reads(const LoadOperation& load) {
  const bool repeats_one_row = load.stride_bytes == 0;
  rows_ = repeats_one_row ? 1 : load.rows;
  next_row_ = 0;
  row_.address = load.dram_address;
  row_.bytes = load.cols * load.element_bytes;
  row_.bytes_per_sram_row = dim_.value() * load.element_bytes;
  row_.writes_per_sram_row = load.pixel_repeats * (repeats_one_row ? load.rows : 1);
  row_.is_scaled = load.is_scaled;
  bytes_loaded_ += rows_ * row_.bytes;
  last_sent_ = last_write_ = begun_;
  packet_.reset();
  const int64_t last_row = load.rows - 1 + (dim_.divide_up(load.cols) - 1) * load.block_stride_rows;
  if (rows_ > 1 && !load.is_acc &&
      spad_bank_rows_.divide(load.first_row) == spad_bank_rows_.divide(load.first_row + last_row)) {
    packet_ = reader_.packet_of_each(row_, load.stride_bytes);
  }
}

void LoadUnit::run_reads(const LoadOperation& load, Cycle until) {
  const bool is_late = is_written_late(load);
  if (packet_ && !is_late) {
    run_rows_alike(load, until);
    return;
  }
  do {
    last_sent_ =
        reader_.read(row_, begun_ + kLoadRequestStages + next_row_,
                     [&](int64_t first_block, int64_t last_block, Cycle from, Cycle to) {
                       if (is_late) {
                         late_arrivals_.push_back({next_row_, first_block,
                                                   last_block - first_block + 1, from, to - from});
                         return;
                       }
                       take_ports(load, next_row_, first_block, last_block, from, to);
                       last_write_ = std::max(last_write_, to - 1);
                     });
    row_.address += load.stride_bytes;
  } while (++next_row_ < rows_ && last_sent_ < until);
}

void LoadUnit::run_rows_alike(const LoadOperation& load, Cycle until) {
  const BankMask bank = BankMask{1} << spad_bank_rows_.divide(load.first_row);
  // Most rows follow the one before at once: one span in the calendar, written down at its end.
  Cycle span_start = 0;
  Cycle span_end = 0;
  Cycle last = last_write_ + 1;
  next_row_ +=
      reader_.read_each(*packet_, load.stride_bytes, rows_ - next_row_,
                        begun_ + kLoadRequestStages + next_row_, until, [&](Cycle from, Cycle to) {
                          if (from != span_end) {
                            spad_writes_.take(bank, span_start, span_end);
                            last = std::max(last, span_end);
                            span_start = from;
                          }
                          span_end = to;
                        });
  spad_writes_.take(bank, span_start, span_end);
  last_write_ = std::max(last, span_end) - 1;
  last_sent_ = reader_.last_sent();
}

}  // namespace npu::gemmini::timing
