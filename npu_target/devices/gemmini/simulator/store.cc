#include "gemmini/simulator/store.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "gemmini/simulator/scale.h"

namespace npu::gemmini {
namespace {

class Storer {
 public:
  Storer(const RunningCommand& running, const Config& config, const sim::MemoryMap& dram,
         State& state)
      : running_(running),
        config_(config),
        dram_(dram),
        state_(state),
        from_(running.command.rs2),
        store_(defined_config()) {}

  void run() {
    check();
    if (store_.pool.stride != 0) {
      run_pooled();
      return;
    }
    const int64_t element_bytes = from_.is_full_width() ? 4 : 1;
    for (int64_t row = 0; row < from_.rows; ++row) {
      const uint64_t address =
          running_.command.rs1 + static_cast<uint64_t>(row) * store_.stride_bytes;
      uint8_t* to = destination(address, from_.cols * element_bytes);
      for (int64_t col = 0; col < from_.cols; col += state_.dim) {
        const int64_t cols = std::min(state_.dim, from_.cols - col);
        // The next `dim` columns lie `dim` rows further on, so that col is also a row offset.
        const int64_t local_row = from_.row() + row + col;
        if (from_.is_full_width()) {
          std::memcpy(to + 4 * col, state_.acc_row(local_row), static_cast<size_t>(cols) * 4);
        } else {
          read(local_row, cols, reinterpret_cast<int8_t*>(to) + col);
        }
      }
    }
  }

 private:
  const StoreConfig& defined_config() const {
    if (!state_.store) {
      running_.fail(ErrorKind::kUndefinedConfiguration, "needs a config_st before it, has none");
    }
    return *state_.store;
  }

  void check() {
    if (from_.is_garbage()) {
      running_.fail(ErrorKind::kGarbageOperand, "needs rows to store, has garbage");
    }
    const bool is_pooled = store_.pool.stride != 0;
    if (from_.is_acc() && from_.is_full_width()) {
      if (!config_.has_acc_full_width_store) {
        running_.fail(ErrorKind::kUnsupportedCommand,
                      "needs a device with has_acc_full_width_store, has none");
      }
      if (is_pooled) {
        running_.fail(ErrorKind::kUnsupportedCommand,
                      "needs a store without pooling for full width, has pool stride " +
                          std::to_string(store_.pool.stride));
      }
    } else if (from_.is_acc()) {
      if (!state_.store_scale) {
        running_.fail(ErrorKind::kUndefinedConfiguration,
                      "needs a config_st with a scale before it, has only ones that keep it");
      }
      scale_ = *state_.store_scale;
    }
    // Neither a pooled nor a full-width store goes on in further blocks.
    const int64_t max_cols =
        is_pooled || from_.is_full_width() ? state_.dim : config_.dma_max_cols(1);
    const bool has_rows = is_pooled || (from_.rows >= 1 && from_.rows <= state_.dim);
    if (!has_rows || from_.cols < 1 || from_.cols > max_cols) {
      running_.fail(ErrorKind::kUnsupportedCommand,
                    "needs 1 to " + std::to_string(state_.dim) + " rows and 1 to " +
                        std::to_string(max_cols) + " cols, has " + std::to_string(from_.rows) +
                        " and " + std::to_string(from_.cols));
    }
    if (is_pooled) check_pooled_elements();
    const int64_t last_block_row = (from_.cols - 1) / state_.dim * state_.dim;
    check_rows(running_, config_, from_, is_pooled ? pooled_rows() : last_block_row + from_.rows);
  }

  // What one pooled store reads is counted in 15 bits [DMACommandTracker].
  void check_pooled_elements() const {
    constexpr int64_t kMost = (1 << 15) - 1;
    const PoolConfig& pool = store_.pool;
    const int64_t elements = pool.out_rows * pool.out_cols * pool.window * pool.window;
    if (elements > kMost) {
      running_.fail(ErrorKind::kUnsupportedCommand,
                    "needs at most " + std::to_string(kMost) +
                        " elements in all windows of a pooled store, has " +
                        std::to_string(elements));
    }
  }

  // How many rows from the operand's on the pooling windows reach.
  int64_t pooled_rows() const {
    const PoolConfig& pool = store_.pool;
    const int64_t last_row =
        std::min(pool.in_rows, (pool.out_rows - 1) * pool.stride + pool.window - pool.upper_pad) -
        1;
    const int64_t last_col =
        std::min(pool.in_cols, (pool.out_cols - 1) * pool.stride + pool.window - pool.left_pad) - 1;
    return last_row < 0 || last_col < 0 ? 0 : last_row * pool.in_cols + last_col + 1;
  }

  uint8_t* destination(uint64_t address, int64_t bytes) const {
    const uint64_t size = static_cast<uint64_t>(bytes);
    uint8_t* to = dram_.find(address, size, /*for_writing=*/true);
    if (to == nullptr) {
      running_.fail(ErrorKind::kAddressOutOfRange, dram_.explain(address, size, true));
    }
    return to;
  }

  // One row as int8: the accumulator's scaled and activated, the scratchpad's as it is.
  void read(int64_t local_row, int64_t cols, int8_t* to) {
    if (!from_.is_acc()) {
      std::memcpy(to, state_.spad_row(local_row), static_cast<size_t>(cols));
      return;
    }
    const int32_t* from = state_.acc_row(local_row);
    // ReLU comes before the scale [AccumulatorScale], which tells where that is negative.
    const int32_t least = store_.has_relu ? 0 : std::numeric_limits<int32_t>::min();
    const float scale = scale_;  // for all the compiler knows, writing to[c] may change the member
    for (int64_t c = 0; c < cols; ++c) to[c] = scale_to_int8(std::max(from[c], least), scale);
  }

  void run_pooled() {
    const PoolConfig& pool = store_.pool;
    for (int64_t out_row = 0; out_row < pool.out_rows; ++out_row) {
      for (int64_t out_col = 0; out_col < pool.out_cols; ++out_col) {
        const uint64_t pixel = static_cast<uint64_t>(out_row * pool.dram_row_pixels + out_col);
        uint8_t* to = destination(running_.command.rs1 + pixel * store_.stride_bytes, from_.cols);
        pool_pixel(out_row, out_col, reinterpret_cast<int8_t*>(to));
      }
    }
  }

  void pool_pixel(int64_t out_row, int64_t out_col, int8_t* to) {
    const PoolConfig& pool = store_.pool;
    std::fill_n(to, from_.cols, static_cast<int8_t>(-128));
    int8_t element[256];
    for (int64_t y = 0; y < pool.window; ++y) {
      for (int64_t x = 0; x < pool.window; ++x) {
        const int64_t row = out_row * pool.stride + y - pool.upper_pad;
        const int64_t col = out_col * pool.stride + x - pool.left_pad;
        if (row < 0 || col < 0 || row >= pool.in_rows || col >= pool.in_cols) {
          std::fill_n(element, from_.cols, static_cast<int8_t>(0));  // padding counts as zero
        } else {
          read(from_.row() + row * pool.in_cols + col, from_.cols, element);
        }
        for (int64_t c = 0; c < from_.cols; ++c) to[c] = std::max(to[c], element[c]);
      }
    }
  }

  const RunningCommand& running_;
  const Config& config_;
  const sim::MemoryMap& dram_;
  State& state_;
  const LocalOperand from_;
  const StoreConfig& store_;
  float scale_ = 0;
};

}  // namespace

void store(const RunningCommand& running, const Config& config, const sim::MemoryMap& dram,
           State& state) {
  Storer(running, config, dram, state).run();
}

}  // namespace npu::gemmini
