// Commands to what the timing model's units want.
#pragma once

#include <array>

#include "gemmini/simulator/command.h"
#include "gemmini/simulator/config.h"
#include "gemmini/simulator/timing/inline.h"
#include "gemmini/simulator/timing/operation.h"
#include "gemmini/simulator/timing/power_of_two.h"
#include "gemmini/simulator/timing/row_range.h"

namespace npu::gemmini::timing {

// Turns commands into operations.
//
// Policy: configuration takes effect in program order, which is the order of every queue, so each
// operation carries the values it runs under. Row ranges follow ReservationStation.scala, among
// them its shortcut that a pooling MVOUT reads from its start to the end of the bank.
// The caller has checked the commands; loop commands are not for this class.
class OperationDecoder {
 public:
  explicit OperationDecoder(const Config& config);

  // The queue of a command.
  static Queue queue_of(const Command& command) {
    return command.funct == kConfig ? queue_of_config(command) : queue_of(command.funct);
  }
  // The queue of commands of a funct other than kConfig.
  static Queue queue_of(uint8_t funct) {
    return funct < kQueueOfFunct.size() ? kQueueOfFunct[funct] : Queue::kFront;
  }

  // Fills what its queue uses of `operation`; not for commands of Queue::kFront.
  void decode(const Command& command, Operation& operation) {
    const bool is_config = command.funct == kConfig;
    decode(operation.queue, is_config, command, operation);
  }
  NPU_INLINE void decode(Queue queue, bool is_config, const Command& command,
                         Operation& operation) {
    operation.is_config = is_config;
    if (is_config) {
      decode_config(command, operation);
    } else if (queue == Queue::kLoad) {
      decode_load(command, operation);
    } else if (queue == Queue::kExecute) {
      decode_execute(command, operation);
    } else {
      decode_store(command, operation);
    }
  }

 private:
  struct LoadState {
    uint64_t stride_bytes = 0;
    int64_t block_stride_rows = 0;
    int64_t pixel_repeats = 1;
    bool is_shrunk = false;
    bool is_scaled = false;
  };

  // By funct; what is not here (and no configuration) ends before the queues (FLUSH, loops,
  // counters).
  static constexpr std::array<Queue, kMvin3 + 1> kQueueOfFunct = [] {
    std::array<Queue, kMvin3 + 1> queues{};
    for (Queue& queue : queues) queue = Queue::kFront;
    queues[kMvin] = queues[kMvin2] = queues[kMvin3] = Queue::kLoad;
    queues[kPreload] = queues[kComputePreloaded] = queues[kComputeAccumulated] = Queue::kExecute;
    queues[kMvout] = Queue::kStore;
    return queues;
  }();
  static Queue queue_of_config(const Command& command);
  NPU_RARE void decode_config(const Command& command, Operation& operation);
  void decode_load(const Command& command, Operation& operation) const;
  NPU_INLINE void decode_execute(const Command& command, Operation& operation) const;
  void decode_store(const Command& command, Operation& operation) const;
  static RowRange range(const LocalOperand& operand, int64_t rows) {
    const int64_t start = operand.row() + (operand.is_acc() ? RowRange::kAccBase : 0);
    return {start, start + rows};
  }
  // The array reads an operand, of which the reservation station compares so many rows: what of it
  // an operation says. The range is written field by field to where it stays: processors wait for
  // what was written in small words and is copied in large ones.
  NPU_INLINE ArrayOperand read(const LocalOperand& operand, uint64_t encoded, int64_t rows,
                               RowRange& compared, RowParts& parts, bool& is_elsewhere) const {
    if (operand.is_garbage()) {  // every second one
      compared.start = RowRange{}.start;
      compared.end = RowRange{}.end;
      return {encoded, 0};
    }
    compare(operand, rows, compared, parts);
    // Operands of nothing may lie beyond the memory's end.
    if (operand.is_acc() || operand.rows == 0 || operand.cols == 0) {
      is_elsewhere = true;
      return {encoded, 0};
    }
    return {encoded, BankMask{1} << spad_bank_rows_.divide(operand.row())};
  }
  NPU_INLINE void compare(const LocalOperand& operand, int64_t rows, RowRange& compared,
                          RowParts& parts) const {
    const RowRange range = OperationDecoder::range(operand, rows);
    parts |= rows_.parts_of(range, operand.is_acc());
    compared.start = range.start;
    compared.end = range.end;
  }

  const RowPartition rows_;
  const bool has_mvin_scale_;
  const bool has_pooling_;
  const int64_t spad_half_rows_;
  const PowerOfTwo dim_;
  const PowerOfTwo spad_bank_rows_;
  const PowerOfTwo acc_bank_rows_;
  LoadState loads_[3];
  ArrayMode mode_{true, false, false, false};
  int64_t a_stride_rows_ = 1;
  int64_t c_stride_rows_ = 1;
  StoreOperation store_{};
};

void OperationDecoder::decode_execute(const Command& command, Operation& operation) const {
  const uint64_t rs1 = command.rs1;
  const uint64_t rs2 = command.rs2;
  const LocalOperand first(rs1);
  const LocalOperand second(rs2);
  ExecuteOperation& execute = operation.execute;
  execute.mode = mode_;
  RowParts parts = 0;
  bool reads_elsewhere = false;
  if (command.funct == kPreload) {
    execute.kind = ExecuteKind::kPreload;
    execute.first = read(first, rs1, first.rows, operation.second, parts, reads_elsewhere);
    execute.second = {rs2, 0};  // written, not read
    operation.writes_first = true;
    BankMask acc_banks = 0;
    bool accumulates = false;
    if (second.is_garbage()) {
      operation.first = {};
    } else {
      compare(second, second.rows * c_stride_rows_, operation.first, parts);
      // A result of no rows may lie beyond the memory's end.
      if (second.is_acc() && second.rows != 0) {
        acc_banks = BankMask{1} << acc_bank_rows_.divide(second.row());
        accumulates = second.accumulates();
      }
    }
    execute.acc_banks = acc_banks;
    execute.accumulates = accumulates;
  } else {
    const int64_t a_rows = mode_.is_a_transposed ? first.cols : first.rows;
    execute.kind = ExecuteKind::kCompute;
    execute.first =
        read(first, rs1, a_rows * a_stride_rows_, operation.first, parts, reads_elsewhere);
    execute.second = read(second, rs2, second.rows, operation.second, parts, reads_elsewhere);
    operation.writes_first = false;
  }
  execute.reads_elsewhere = reads_elsewhere;
  operation.parts = parts;
}

}  // namespace npu::gemmini::timing
