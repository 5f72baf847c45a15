#include "gemmini/simulator/load.h"

#include <algorithm>
#include <cstring>

#include "gemmini/simulator/scale.h"
#include "sim/memory.h"

namespace npu::gemmini {
namespace {

// A row is this long, or a few times, as a rule; a call of memcpy takes longer than the copy.
constexpr int64_t kChunkBytes = 16;

inline void copy_row(const uint8_t* from, int8_t* to, int64_t bytes) {
  for (; bytes >= kChunkBytes; bytes -= kChunkBytes, from += kChunkBytes, to += kChunkBytes) {
    std::memcpy(to, from, kChunkBytes);
  }
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

class Loader {
 public:
  Loader(const RunningCommand& running, const Config& config, const sim::MemoryMap& dram,
         State& state)
      : running_(running),
        config_(config),
        dram_(dram),
        state_(state),
        to_(running.command.rs2),
        load_(defined_config()),
        is_int32_(to_.is_acc() && !load_.is_shrunk),
        // Zeros do not pass the multipliers, which would make numbers of them where the scale is
        // none.
        is_scaled_(load_.scale != 1.0f && running.command.rs1 != 0) {}

  void run() {
    check();
    if (is_plain_copy()) {
      if (const uint8_t* source = find_tile()) return copy_to_spad(source);
    }
    const uint64_t row_bytes = static_cast<uint64_t>(to_.cols) * (is_int32_ ? 4 : 1);
    zeros_.assign(running_.command.rs1 == 0 ? row_bytes : 0, 0);
    for (int64_t row = 0; row < to_.rows; ++row) {
      const uint8_t* source = source_of(row, row_bytes);
      for (int64_t col = 0; col < to_.cols; col += state_.dim) {
        const int64_t cols = std::min(state_.dim, to_.cols - col);
        const int64_t local_row = to_.row() + row + col / state_.dim * load_.block_stride_rows;
        if (!to_.is_acc()) {
          write_spad(source + col, local_row, cols);
        } else if (is_int32_) {
          write_acc_int32(source + 4 * col, local_row, cols);
        } else {
          write_acc_int8(source + col, local_row, cols);
        }
      }
    }
  }

 private:
  const LoadConfig& defined_config() const {
    const int id = load_id(running_.command.funct);
    const auto& load = state_.loads[id];
    if (!load) {
      running_.fail(ErrorKind::kUndefinedConfiguration,
                    "needs a config_ld[" + std::to_string(id) + "] before it, has none");
    }
    return *load;
  }

  void check() const {
    if (to_.is_garbage()) {
      running_.fail(ErrorKind::kGarbageOperand, "needs a place to load to, has garbage");
    }
    const int64_t max_cols = config_.dma_max_cols(is_int32_ ? 4 : 1);
    if (to_.rows < 1 || to_.rows > state_.dim || to_.cols < 1 || to_.cols > max_cols) {
      running_.fail(ErrorKind::kUnsupportedCommand,
                    "needs 1 to " + std::to_string(state_.dim) + " rows and 1 to " +
                        std::to_string(max_cols) + " cols, has " + std::to_string(to_.rows) +
                        " and " + std::to_string(to_.cols));
    }
    const int64_t last_block = (to_.cols - 1) / state_.dim;
    if (last_block > 0 && load_.block_stride_rows < to_.rows) {
      running_.fail(ErrorKind::kUnsupportedCommand,
                    "needs a block stride of at least its rows, so that blocks do not overlap, "
                    "has " +
                        std::to_string(load_.block_stride_rows));
    }
    if (load_.pixel_repeats > 1) {
      if (to_.is_acc()) {
        running_.fail(ErrorKind::kUnsupportedCommand,
                      "needs the scratchpad for pixel repeats, has the accumulator");
      }
      if (load_.pixel_repeats * to_.cols > state_.dim) {
        running_.fail(ErrorKind::kUnsupportedCommand, "needs pixel repeats x cols of at most " +
                                                          std::to_string(state_.dim) + ", has " +
                                                          std::to_string(load_.pixel_repeats) +
                                                          " x " + std::to_string(to_.cols));
      }
    }
    if (to_.is_acc() && !is_int32_ && running_.command.rs1 == 0) {
      running_.fail(ErrorKind::kUnsupportedCommand,
                    "needs 4 bytes an element for zeros into the accumulator (of a load that says "
                    "1, the hardware never sees the end), has 1");
    }
    if (is_int32_ && to_.accumulates()) check_alignment();
    check_rows(running_, config_, to_, last_block * load_.block_stride_rows + to_.rows);
  }

  // Packets are added byte by byte where they end, so an element that two of them share would lose
  // its carry [AccumulatorMem].
  void check_alignment() const {
    constexpr uint64_t kElementBytes = 4;
    const uint64_t between = to_.rows > 1 ? load_.stride_bytes : 0;
    if (running_.command.rs1 % kElementBytes != 0 || between % kElementBytes != 0) {
      running_.fail(ErrorKind::kUnsupportedCommand,
                    "needs rows at multiples of 4 bytes, where they are added to sums, has them "
                    "from " +
                        sim::hex(running_.command.rs1) + " on, " + std::to_string(between) +
                        " bytes apart");
    }
  }

  // Whether the scratchpad gets what memory has, each byte once: most loads by far.
  bool is_plain_copy() const {
    return !to_.is_acc() && !is_scaled_ && load_.pixel_repeats == 1 && running_.command.rs1 != 0;
  }

  // All of its rows, null where no region holds them together with what lies between them.
  const uint8_t* find_tile() const {
    const uint64_t steps = static_cast<uint64_t>(to_.rows - 1);
    const uint64_t row_bytes = static_cast<uint64_t>(to_.cols);
    if (steps != 0 && load_.stride_bytes > (UINT64_MAX - row_bytes) / steps) return nullptr;
    return dram_.find(running_.command.rs1, steps * load_.stride_bytes + row_bytes,
                      /*for_writing=*/false);
  }

  void copy_to_spad(const uint8_t* source) {
    // In variables of its own: for all the compiler knows, a row that is written may change any
    // object's fields.
    const int64_t rows = to_.rows;
    const int64_t dim = state_.dim;
    const uint64_t stride_bytes = load_.stride_bytes;
    int64_t block_row = to_.row();
    for (int64_t col = 0; col < to_.cols; col += dim, block_row += load_.block_stride_rows) {
      const int64_t cols = std::min(dim, to_.cols - col);
      // The row after the last may be anywhere, so that only its offset is worked out.
      uint64_t offset = static_cast<uint64_t>(col);
      int8_t* to = state_.spad_row(block_row);
      for (int64_t row = 0; row < rows; ++row, offset += stride_bytes, to += dim) {
        copy_row(source + offset, to, cols);
      }
    }
  }

  const uint8_t* source_of(int64_t row, uint64_t row_bytes) const {
    if (running_.command.rs1 == 0) return zeros_.data();
    const uint64_t address = running_.command.rs1 + static_cast<uint64_t>(row) * load_.stride_bytes;
    const uint8_t* source = dram_.find(address, row_bytes, /*for_writing=*/false);
    if (source == nullptr) {
      running_.fail(ErrorKind::kAddressOutOfRange, dram_.explain(address, row_bytes, false) +
                                                       " (row " + std::to_string(row) + ")");
    }
    return source;
  }

  int8_t scaled(uint8_t value) const {
    const int8_t element = static_cast<int8_t>(value);
    return is_scaled_ ? scale_to_int8(element, load_.scale) : element;
  }

  void write_spad(const uint8_t* source, int64_t local_row, int64_t cols) {
    int8_t* to = state_.spad_row(local_row);
    if (is_scaled_) {
      for (int64_t c = 0; c < cols; ++c) to[c] = scaled(source[c]);
    } else {
      std::memcpy(to, source, static_cast<size_t>(cols));
    }
    // The hardware drops repeats that would leave the half of the scratchpad the row is in:
    // its convolution loops give one half to each of two overlapping layers.
    const int64_t half = config_.spad_rows() / 2;
    const int64_t first_row = local_row < half ? 0 : half;
    for (int64_t repeat = 1; repeat < load_.pixel_repeats; ++repeat) {
      if (local_row - repeat < first_row) break;
      std::memcpy(state_.spad_row(local_row - repeat) + repeat * cols, to,
                  static_cast<size_t>(cols));
    }
  }

  void write_acc_int32(const uint8_t* source, int64_t local_row, int64_t cols) {
    int32_t* to = state_.acc_row(local_row);
    if (!to_.accumulates()) {
      std::memcpy(to, source, static_cast<size_t>(cols) * sizeof(*to));
      return;
    }
    for (int64_t c = 0; c < cols; ++c) {
      int32_t value;
      std::memcpy(&value, source + 4 * c, sizeof(value));
      to[c] = add_wrapping(to[c], value);
    }
  }

  void write_acc_int8(const uint8_t* source, int64_t local_row, int64_t cols) {
    int32_t* to = state_.acc_row(local_row);
    for (int64_t c = 0; c < cols; ++c) {
      const int32_t value = scaled(source[c]);
      to[c] = to_.accumulates() ? add_wrapping(to[c], value) : value;
    }
  }

  const RunningCommand& running_;
  const Config& config_;
  const sim::MemoryMap& dram_;
  State& state_;
  const LocalOperand to_;
  const LoadConfig& load_;
  const bool is_int32_;
  const bool is_scaled_;
  std::vector<uint8_t> zeros_;
};

}  // namespace

void load(const RunningCommand& running, const Config& config, const sim::MemoryMap& dram,
          State& state) {
  Loader(running, config, dram, state).run();
}

}  // namespace npu::gemmini
