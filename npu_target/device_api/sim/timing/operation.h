// A command as the timing model's units want it: where it goes and what it moves.
#pragma once

#include <array>
#include <limits>

#include "command.h"
#include "config.h"
#include "cycle.h"
#include "inline.h"
#include "ports.h"
#include "power_of_two.h"

namespace npu::sim::timing {

// The three queues of the reservation station. kFront: the command ends before them.
enum class Queue : uint8_t { kLoad = 0, kExecute = 1, kStore = 2, kFront = 3 };
inline constexpr int kQueues = 3;

// Rows [start, end) of the scratchpad or, from kAccBase on, of the accumulator. By default no
// rows at all, which overlap with nothing.
struct RowRange {
  static constexpr int64_t kAccBase = int64_t{1} << 32;

  int64_t start = std::numeric_limits<int64_t>::max();
  int64_t end = std::numeric_limits<int64_t>::min();

  // The hardware's comparison (ReservationStation.scala, OpT.overlaps).
  bool overlaps(const RowRange& other) const {
    return (other.start <= start && start < other.end) ||
           (start <= other.start && other.start < end);
  }
};

// One MVIN.
struct LoadOperation {
  uint64_t dram_address;  // 0: zeros
  uint64_t stride_bytes;
  int64_t first_row;  // in the memory it goes to
  int64_t rows;
  int64_t cols;
  int64_t block_stride_rows;
  int64_t pixel_repeats;
  int64_t element_bytes;  // in DRAM
  bool is_acc;
  bool accumulates;
  bool is_scaled;
};

enum class ExecuteKind : uint8_t { kConfig, kPreload, kCompute };

// One operand of the array.
struct ArrayOperand {
  uint64_t encoded;
  BankMask spad_banks;  // 0: not read from the scratchpad

  uint32_t address() const { return static_cast<uint32_t>(encoded); }
  int64_t rows() const { return static_cast<int64_t>(bits(encoded, 63, 48)); }
  int64_t cols() const { return static_cast<int64_t>(bits(encoded, 47, 32)); }
  bool is_garbage() const { return address() == 0xFFFFFFFFu; }
};

// What CONFIG_EX sets of the way the array runs.
struct ArrayMode {
  bool is_weight_stationary;
  bool is_a_transposed;
  bool is_b_transposed;
  // Whether a run takes `dim` rows whatever its operands have.
  bool takes_all_rows;
};

// One CONFIG_EX, PRELOAD or COMPUTE, with the mode it runs under.
struct ExecuteOperation {
  ExecuteKind kind;
  ArrayMode mode;
  bool accumulates;     // PRELOAD: C is added to what is there
  ArrayOperand first;   // rs1: PRELOAD B or D, COMPUTE A
  ArrayOperand second;  // rs2: PRELOAD C, COMPUTE D or B
  BankMask acc_banks;   // PRELOAD: those of C
};

// One MVOUT.
struct StoreOperation {
  uint64_t dram_address;
  uint64_t stride_bytes;
  int64_t first_row;
  int64_t rows;
  int64_t cols;
  int64_t element_bytes;  // in DRAM
  bool is_acc;
  // Pooling, when pool_stride is not 0.
  int64_t pool_stride;
  int64_t pool_window;
  int64_t pool_upper_pad;
  int64_t pool_left_pad;
  int64_t pool_dram_row_pixels;
  int64_t pool_out_rows;
  int64_t pool_out_cols;
  int64_t pool_in_rows;
  int64_t pool_in_cols;
};

struct Operation {
  Queue queue = Queue::kFront;
  bool is_config = false;
  // What the reservation station compares (its opa and opb).
  RowRange first;
  RowRange second;
  bool writes_first = false;
  // That of its queue.
  union {
    LoadOperation load;
    ExecuteOperation execute;
    StoreOperation store{};
  };
};

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
    if (command.funct == kConfig) return queue_of_config(command);
    return command.funct < kQueueOfFunct.size() ? kQueueOfFunct[command.funct] : Queue::kFront;
  }

  // Fills the parts of `operation` that its queue uses; not for commands of Queue::kFront.
  void decode(const Command& command, Operation& operation) {
    decode(operation.queue, command, operation);
  }
  NPU_INLINE void decode(Queue queue, const Command& command, Operation& operation) {
    operation.is_config = command.funct == kConfig;
    if (operation.is_config) {
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

  // By funct; what is not here ends before the queues (FLUSH, loops, counters).
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
    if (operand.is_garbage()) return {};
    const int64_t start = operand.row() + (operand.is_acc() ? RowRange::kAccBase : 0);
    return {start, start + rows};
  }
  ArrayOperand array_operand(const LocalOperand& operand, uint64_t encoded) const {
    // Garbage has the accumulator's bit.
    return {encoded, operand.is_acc() ? 0 : BankMask{1} << spad_bank_rows_.divide(operand.row())};
  }

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
  const LocalOperand first(command.rs1);
  const LocalOperand second(command.rs2);
  ExecuteOperation& execute = operation.execute;
  execute.mode = mode_;
  execute.first = array_operand(first, command.rs1);
  execute.second = array_operand(second, command.rs2);
  if (command.funct == kPreload) {
    const bool is_to_acc = !second.is_garbage() && second.is_acc();
    execute.kind = ExecuteKind::kPreload;
    execute.acc_banks = is_to_acc ? BankMask{1} << acc_bank_rows_.divide(second.row()) : 0;
    execute.accumulates = is_to_acc && second.accumulates();
    operation.first = range(second, second.rows * c_stride_rows_);
    operation.second = range(first, first.rows);
    operation.writes_first = true;
  } else {
    const int64_t a_rows = mode_.is_a_transposed ? first.cols : first.rows;
    execute.kind = ExecuteKind::kCompute;
    operation.first = range(first, a_rows * a_stride_rows_);
    operation.second = range(second, second.rows);
    operation.writes_first = false;
  }
}

}  // namespace npu::sim::timing
