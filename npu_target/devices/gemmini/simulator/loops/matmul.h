// LOOP_WS: what one of these loops is to do.
#pragma once

#include <cstdint>
#include <optional>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/fault.h"

namespace npu::gemmini::loops {

// The registers that commands 9 to 13 set and LOOP_WS uses. The device keeps two sets.
struct MatmulRegisters {
  std::optional<Command> bounds;
  std::optional<Command> addresses_ab;
  std::optional<Command> addresses_dc;
  std::optional<Command> strides_ab;
  std::optional<Command> strides_dc;

  // Takes one of the commands 9 to 13.
  void set(const Command& command);
};

// Where the next loop begins: its number decides the half of either memory it works in.
struct MatmulPlaces {
  int64_t slot = 0;  // 0 or 1: the half of the scratchpad, and of the accumulator with residual add
  // First rows in the accumulator, of D where it is loaded, of C where it is computed and stored.
  // Each moves to the other half when its unit takes up a loop that stores C; the units that a
  // loop leaves out stay behind (LoopMatmul.scala: ld_d_addr_start, ex_c_addr_start,
  // st_c_addr_start).
  int64_t load_d_row = 0;
  int64_t execute_c_row = 0;
  int64_t store_c_row = 0;
};

// One LOOP_WS, checked: C = A * B + D over blocks of `dim` x `dim`, or C = A + B (residual add).
struct MatmulLoop {
  int64_t slot;
  int64_t dim;
  int64_t i_blocks;  // rows of A and C
  int64_t j_blocks;  // columns of B and C
  int64_t k_blocks;
  // Rows or columns missing in the last block.
  int64_t i_pad;
  int64_t j_pad;
  int64_t k_pad;
  // DRAM; 0: not loaded, not stored.
  uint64_t a_address;
  uint64_t b_address;
  uint64_t c_address;
  uint64_t d_address;
  // From row to row in DRAM, in elements.
  uint64_t a_stride;
  uint64_t b_stride;
  uint64_t c_stride;
  uint64_t d_stride;
  bool is_a_transposed;
  bool is_b_transposed;
  bool accumulates;  // on what the accumulator holds, from the first block on
  bool is_full_c;    // int32
  bool is_low_d;     // int8
  bool is_residual_add;
  // Whether the unit takes part at all. With an address of 0 it does, but has nothing to do.
  bool has_load_a;
  bool has_load_b;
  bool has_load_d;
  bool has_execute;
  bool has_store;
  // First rows in the scratchpad, with residual add in the accumulator.
  int64_t a_row;
  int64_t b_row;
  // Whether that is in the half of the loop's own, whichever it is: the hardware does not say with
  // which one the first loop after a reset begins (LoopMatmul.scala: head_loop_id).
  bool is_a_in_own_half;
  bool is_b_in_own_half;
  // First rows in the accumulator.
  int64_t load_d_row;
  int64_t execute_c_row;
  int64_t store_c_row;
  // Blocks side by side that one command moves.
  int64_t max_blocks;
  int64_t max_acc_blocks;

  // What the operands take in the local memories.
  int64_t a_rows() const { return dim * i_blocks * k_blocks; }
  int64_t b_rows() const { return dim * k_blocks * j_blocks; }
  int64_t c_rows() const { return dim * i_blocks * j_blocks; }

  // The loop that `running`, a LOOP_WS, starts, and the places of the one after it. Throws
  // SimError: undefined_configuration for registers nobody has set, address_out_of_range for a
  // tile beyond its half of a memory, unsupported_command for what the device cannot do.
  static MatmulLoop decode(const RunningCommand& running, const Config& config,
                           const MatmulRegisters& registers, MatmulPlaces& places);
};

}  // namespace npu::gemmini::loops
