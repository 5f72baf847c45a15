#include "gemmini/simulator/configure.h"

#include <cstring>

namespace npu::gemmini {
namespace {

constexpr uint64_t kKeepScale = 0xFFFFFFFF;

float as_float(uint64_t pattern) {
  const uint32_t word = static_cast<uint32_t>(pattern);
  float value;
  static_assert(sizeof(value) == sizeof(word));
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

bool relu_of(const RunningCommand& running, uint64_t activation) {
  if (activation > kRelu) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs activation 0 (none) or 1 (ReLU), has " + std::to_string(activation));
  }
  return activation == kRelu;
}

void configure_execute(const RunningCommand& running, const Config& config, State& state) {
  const uint64_t rs1 = running.command.rs1;
  const uint64_t rs2 = running.command.rs2;
  const bool sets_strides_only = bit(rs1, 7);
  if (!sets_strides_only) {
    ExecuteMode mode;
    const bool is_ws = bit(rs1, 2);
    mode.dataflow = is_ws ? Dataflow::kWeightStationary : Dataflow::kOutputStationary;
    if (!(is_ws ? config.has_weight_stationary : config.has_output_stationary)) {
      running.fail(ErrorKind::kUnsupportedCommand,
                   std::string("needs a device with the ") +
                       (is_ws ? "weight-stationary" : "output-stationary") +
                       " dataflow, has only the other");
    }
    mode.has_relu = relu_of(running, bits(rs1, 4, 3));
    mode.is_a_transposed = bit(rs1, 8);
    mode.is_b_transposed = bit(rs1, 9);
    if ((mode.is_a_transposed || mode.is_b_transposed) && !config.has_transpose) {
      running.fail(ErrorKind::kUnsupportedCommand,
                   "needs a device with a transposer (has_transpose), has none");
    }
    // There is one transposer. Output-stationary, A passes through it unless it is transposed
    // already; B's place in it is then taken.
    if (is_ws && mode.is_a_transposed && mode.is_b_transposed) {
      running.fail(ErrorKind::kUnsupportedCommand,
                   "needs at most one of A and B transposed, has both");
    }
    if (!is_ws && !mode.is_a_transposed && mode.is_b_transposed) {
      running.fail(ErrorKind::kUnsupportedCommand,
                   "needs A transposed where B is, in the output-stationary dataflow, has B alone");
    }
    const int64_t shift = field(rs2, 31, 0);
    if (shift > 31) {
      running.fail(ErrorKind::kUnsupportedCommand,
                   "needs a shift of 0 to 31, has " + std::to_string(shift));
    }
    mode.shift = static_cast<int>(shift);
    state.execute = mode;
  }
  state.strides = ExecuteStrides{field(rs1, 31, 16), field(rs2, 63, 48)};
}

void configure_load(const RunningCommand& running, const Config& config, State& state) {
  const uint64_t rs1 = running.command.rs1;
  const uint64_t id = bits(rs1, 4, 3);
  if (id > 2) {
    running.fail(ErrorKind::kUnsupportedCommand, "needs a load id of 0 to 2, has 3");
  }
  LoadConfig load;
  // The headers of devices without scaled loads call 0 the identity.
  const uint64_t scale = bits(rs1, 63, 32);
  load.scale = scale == 0 && !config.has_mvin_scale ? 1.0f : as_float(scale);
  if (load.scale != 1.0f && !config.has_mvin_scale) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs a device with has_mvin_scale for a scale of " + std::to_string(load.scale) +
                     ", has none");
  }
  load.is_shrunk = bit(rs1, 2);
  load.pixel_repeats = field(rs1, 15, 8);
  if (load.pixel_repeats == 0) load.pixel_repeats = 1;
  if (load.pixel_repeats > 1 && !config.has_first_layer_pixel_repeats) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs a device with has_first_layer_pixel_repeats for " +
                     std::to_string(load.pixel_repeats) + " pixel repeats, has none");
  }
  load.block_stride_rows = field(rs1, 31, 16);
  load.stride_bytes = running.command.rs2;
  state.loads[id] = load;
}

void configure_store(const RunningCommand& running, const Config& config, State& state) {
  const uint64_t rs1 = running.command.rs1;
  const uint64_t rs2 = running.command.rs2;
  StoreConfig store;
  store.has_relu = relu_of(running, bits(rs1, 3, 2));
  store.stride_bytes = bits(rs2, 31, 0);
  PoolConfig& pool = store.pool;
  pool.stride = field(rs1, 5, 4);
  pool.window = field(rs1, 7, 6);
  if (pool.stride != 0) {
    if (!config.has_pooling) {
      running.fail(ErrorKind::kUnsupportedCommand,
                   "needs a device with has_pooling for pool stride " +
                       std::to_string(pool.stride) + ", has none");
    }
    pool.upper_pad = field(rs1, 9, 8);
    pool.left_pad = field(rs1, 11, 10);
    pool.dram_row_pixels = field(rs1, 31, 24);
    pool.out_rows = field(rs1, 39, 32);
    pool.out_cols = field(rs1, 47, 40);
    pool.in_rows = field(rs1, 55, 48);
    pool.in_cols = field(rs1, 63, 56);
    if (pool.window == 0 || pool.out_rows == 0 || pool.out_cols == 0) {
      running.fail(ErrorKind::kUnsupportedCommand,
                   "needs a pool window, output rows and output columns of at least 1, has " +
                       std::to_string(pool.window) + ", " + std::to_string(pool.out_rows) + ", " +
                       std::to_string(pool.out_cols));
    }
  } else if (pool.window != 0) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs a pool stride of at least 1 with a pool window of " +
                     std::to_string(pool.window) + ", has 0");
  }
  const uint64_t scale = bits(rs2, 63, 32);
  if (scale != kKeepScale) state.store_scale = as_float(scale);
  state.store = store;
}

}  // namespace

void configure(const RunningCommand& running, const Config& config, State& state) {
  switch (bits(running.command.rs1, 1, 0)) {
    case kConfigEx:
      return configure_execute(running, config, state);
    case kConfigLd:
      return configure_load(running, config, state);
    case kConfigSt:
      return configure_store(running, config, state);
    default:
      running.fail(ErrorKind::kUnsupportedCommand, "needs a device with normalizations, has none");
  }
}

}  // namespace npu::gemmini
