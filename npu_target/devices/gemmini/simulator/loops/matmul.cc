#include "gemmini/simulator/loops/matmul.h"

#include <algorithm>
#include <string>

#include "gemmini/simulator/loops/half.h"

namespace npu::gemmini::loops {
namespace {

const Command& defined(const RunningCommand& running, const std::optional<Command>& command,
                       int funct) {
  if (!command) fail_undefined(running, "loop_ws", funct);
  return *command;
}

void check_flags(const RunningCommand& running, const Config& config, const MatmulLoop& loop) {
  const uint64_t activation = bits(running.command.rs1, 10, 8);
  if (activation > kRelu) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs activation 0 (none) or 1 (ReLU), has " + std::to_string(activation));
  }
  if (bit(running.command.rs2, 9)) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs a device that stores from the accumulator to the scratchpad (bit 9 of "
                 "rs2), has none");
  }
  if (!(loop.has_load_a || loop.has_load_b || loop.has_load_d || loop.has_execute ||
        loop.has_store)) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs at least one part that is not skipped (bits 7:3 of rs2), has none: the "
                 "loop would never end");
  }
  const bool has_transpose = loop.is_a_transposed || loop.is_b_transposed;
  if (has_transpose && config.has_transpose == 0) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs a device with a transposer (has_transpose), has none");
  }
  if (loop.is_a_transposed && loop.is_b_transposed) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs at most one of A and B transposed, has both");
  }
  if (loop.is_residual_add && has_transpose) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs A and B as they are with residual add, has one transposed");
  }
  if (loop.is_residual_add && loop.has_load_d && loop.d_address != 0) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs no D (address 0) with residual add, has one");
  }
  if (loop.is_full_c && loop.c_address != 0 && config.has_acc_full_width_store == 0) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs a device with has_acc_full_width_store for full C, has none");
  }
}

void check_bounds(const RunningCommand& running, const MatmulLoop& loop) {
  // A bound of 0 wraps around in hardware and runs 65536 times.
  if (loop.i_blocks == 0 || loop.j_blocks == 0 || loop.k_blocks == 0) {
    running.fail(ErrorKind::kUnsupportedCommand,
                 "needs bounds of at least 1, has I " + std::to_string(loop.i_blocks) + ", J " +
                     std::to_string(loop.j_blocks) + ", K " + std::to_string(loop.k_blocks));
  }
  if (std::max({loop.i_pad, loop.j_pad, loop.k_pad}) >= loop.dim) {
    running.fail(ErrorKind::kUnsupportedCommand, "needs pads below " + std::to_string(loop.dim) +
                                                     ", has I " + std::to_string(loop.i_pad) +
                                                     ", J " + std::to_string(loop.j_pad) + ", K " +
                                                     std::to_string(loop.k_pad));
  }
}

// A lies at the start of its half, B at the end of its own.
void place_operands(const RunningCommand& running, const Config& config, MatmulLoop& loop) {
  const int64_t acc_half = config.acc_rows() / 2;
  check_half(running, "C", loop.c_rows(), "accumulator", acc_half);
  if (loop.is_residual_add) {
    loop.a_row = loop.b_row = loop.store_c_row = loop.slot * acc_half;
    return;
  }
  const int64_t half = config.spad_rows() / 2;
  const uint64_t a_id = bits(running.command.rs1, 19, 18);
  const uint64_t b_id = bits(running.command.rs1, 17, 16);
  loop.is_a_in_own_half = a_id == 0;
  loop.is_b_in_own_half = b_id == 0;
  const int64_t a_half = half_of(running, "A", a_id, loop.slot);
  const int64_t b_half = half_of(running, "B", b_id, loop.slot);
  // The loop's own half may be the one that the other operand names.
  const bool may_share = loop.is_a_in_own_half != loop.is_b_in_own_half;
  check_operands(running, {"A", loop.a_rows(), a_half},
                 {"B", loop.b_rows(), may_share ? a_half : b_half}, half);
  loop.a_row = a_half * half;
  loop.b_row = (b_half + 1) * half - loop.b_rows();
}

}  // namespace

void MatmulRegisters::set(const Command& command) {
  std::optional<Command>* const registers[] = {&bounds, &addresses_ab, &addresses_dc, &strides_ab,
                                               &strides_dc};
  *registers[command.funct - kLoopWsConfigFirst] = command;
}

MatmulLoop MatmulLoop::decode(const RunningCommand& running, const Config& config,
                              const MatmulRegisters& registers, MatmulPlaces& places) {
  const uint64_t rs1 = running.command.rs1;
  const uint64_t rs2 = running.command.rs2;
  MatmulLoop loop{};
  loop.slot = places.slot;
  loop.dim = config.dim;
  const Command& bounds = defined(running, registers.bounds, 9);
  loop.i_blocks = field(bounds.rs2, 15, 0);
  loop.j_blocks = field(bounds.rs2, 31, 16);
  loop.k_blocks = field(bounds.rs2, 47, 32);
  loop.i_pad = field(bounds.rs1, 15, 0);
  loop.j_pad = field(bounds.rs1, 31, 16);
  loop.k_pad = field(bounds.rs1, 47, 32);
  loop.a_address = defined(running, registers.addresses_ab, 10).rs1;
  loop.b_address = defined(running, registers.addresses_ab, 10).rs2;
  loop.d_address = defined(running, registers.addresses_dc, 11).rs1;
  loop.c_address = defined(running, registers.addresses_dc, 11).rs2;
  loop.accumulates = bit(rs1, 0);
  loop.is_full_c = bit(rs1, 1);
  loop.is_low_d = bit(rs1, 2);
  loop.is_a_transposed = bit(rs2, 0);
  loop.is_b_transposed = bit(rs2, 1);
  loop.is_residual_add = bit(rs2, 2);
  loop.has_load_a = !bit(rs2, 3);
  loop.has_load_b = !bit(rs2, 4);
  loop.has_load_d = !bit(rs2, 5);
  loop.has_execute = !bit(rs2, 6);
  loop.has_store = !bit(rs2, 7);
  loop.max_blocks = config.dma_max_cols(1) / config.dim;
  loop.max_acc_blocks = config.dma_max_cols(4) / config.dim;

  // Strides that nothing uses need not be there.
  if ((loop.has_load_a && loop.a_address != 0) || (loop.has_load_b && loop.b_address != 0)) {
    loop.a_stride = defined(running, registers.strides_ab, 12).rs1;
    loop.b_stride = defined(running, registers.strides_ab, 12).rs2;
  }
  if ((loop.has_load_d && loop.d_address != 0) || (loop.has_store && loop.c_address != 0)) {
    loop.d_stride = defined(running, registers.strides_dc, 13).rs1;
    loop.c_stride = defined(running, registers.strides_dc, 13).rs2;
  }
  if (loop.is_residual_add) loop.k_blocks = 1;  // not used, usually 0

  check_bounds(running, loop);
  check_flags(running, config, loop);
  loop.load_d_row = places.load_d_row;
  loop.execute_c_row = places.execute_c_row;
  loop.store_c_row = places.store_c_row;
  place_operands(running, config, loop);

  places.slot ^= 1;
  if (loop.c_address != 0) {
    const int64_t both = config.acc_rows() / 2;
    if (loop.has_load_d) places.load_d_row = both - places.load_d_row;
    if (loop.has_execute) places.execute_c_row = both - places.execute_c_row;
    if (loop.has_store) places.store_c_row = both - places.store_c_row;
  }
  return loop;
}

}  // namespace npu::gemmini::loops
