// The units of the LOOP_WS unroller: each turns a loop into the commands of its kind.
//
// A unit hands out its commands in the hardware's order. Between two calls of next() its
// position is that of the next command; a unit that is done is at 0, as in hardware. What has to
// wait for what is for the caller to see to.
#pragma once

#include <cstdint>
#include <optional>

#include "gemmini/simulator/command.h"
#include "gemmini/simulator/loops/matmul.h"

namespace npu::gemmini::loops {

// Moves a matrix of blocks, row-major in DRAM and, block after block, in a local memory, by
// commands that take up to `max_blocks` blocks of a block row. The common part of the load units
// and the store unit.
class BlockTransfer {
 public:
  struct Matrix {
    uint8_t funct;
    uint64_t dram_address;  // 0: nothing to move
    uint64_t stride;        // from row to row, in elements
    int64_t element_bytes;
    uint32_t local_address;  // of the first block
    int64_t dim;
    int64_t rows;  // of blocks
    int64_t cols;
    int64_t row_pad;  // missing in the last block row
    int64_t col_pad;
    int64_t max_blocks;
    bool is_row_inner;  // whether the block row runs faster than the block column
  };
  explicit BlockTransfer(const Matrix& matrix);

  bool is_done() const { return is_done_; }
  // Of the next command's first block.
  int64_t row() const { return row_; }
  int64_t col() const { return col_; }
  std::optional<Command> next();

 private:
  Matrix matrix_;
  int64_t row_ = 0;
  int64_t col_ = 0;
  bool is_done_;
};

// Policy (LoopMatmulLdA): MVINs of A to the start of the loop's half, up to 4 blocks along a row
// of A as it lies in DRAM. Order: i inner, k outer, transposed or not, each by as many blocks as
// a command takes in its direction. With residual add, A (whose k counts columns) goes to the
// accumulator.
class MatmulLoadA {
 public:
  explicit MatmulLoadA(const MatmulLoop& loop);
  bool is_done() const { return blocks_.is_done(); }
  int64_t i() const { return is_transposed_ ? blocks_.col() : blocks_.row(); }
  int64_t k() const { return is_transposed_ ? blocks_.row() : blocks_.col(); }
  std::optional<Command> next() { return blocks_.next(); }

 private:
  bool is_transposed_;
  BlockTransfer blocks_;
};

// What the hardware does with rows of B's last block row that do not exist: it loads them, by an
// oversight (LoopMatmulLdB compares a bound with itself), and never uses them. They may lie beyond
// the caller's memory, so values are simulated without them; time counts them.
enum class AbsentRows { kLoaded, kLeftOut };

// Policy (LoopMatmulLdB): MVIN2s of B to the end of the loop's half, up to 4 blocks along a row.
// Order: j inner, k outer. With residual add, B (whose k counts rows) is added to A in the
// accumulator.
class MatmulLoadB {
 public:
  MatmulLoadB(const MatmulLoop& loop, AbsentRows absent_rows);
  bool is_done() const { return blocks_.is_done(); }
  int64_t j() const { return is_transposed_ ? blocks_.row() : blocks_.col(); }
  int64_t k() const { return is_transposed_ ? blocks_.col() : blocks_.row(); }
  std::optional<Command> next() { return blocks_.next(); }

 private:
  bool is_transposed_;
  BlockTransfer blocks_;
};

// Policy (LoopMatmulLdD): MVIN3s of D to the accumulator, int32 or (low D) int8, up to as many
// blocks as a DMA request has room for. Order: i inner, j outer.
class MatmulLoadD {
 public:
  explicit MatmulLoadD(const MatmulLoop& loop);
  bool is_done() const { return blocks_.is_done(); }
  std::optional<Command> next() { return blocks_.next(); }

 private:
  BlockTransfer blocks_;
};

// Policy (LoopMatmulExecute): a PRELOAD and a COMPUTE per triple of blocks. Order: i inner, j, k
// outer. B's block is preloaded for the first i and stays for the others; C starts anew with the
// first k unless the loop accumulates. With residual add there is nothing to compute.
class MatmulExecute {
 public:
  explicit MatmulExecute(const MatmulLoop& loop);
  bool is_done() const { return is_done_; }
  int64_t i() const { return i_; }
  int64_t j() const { return j_; }
  int64_t k() const { return k_; }
  std::optional<Command> next();

 private:
  Command preload() const;
  Command compute() const;
  void advance();

  MatmulLoop loop_;
  int64_t i_ = 0;
  int64_t j_ = 0;
  int64_t k_ = 0;
  bool is_preloaded_ = false;
  bool is_done_;
};

// Policy (LoopMatmulStC): MVOUTs of C, up to 4 blocks of int8 along a row, or one of int32 (full
// C). Order: i inner, j outer.
class MatmulStore {
 public:
  explicit MatmulStore(const MatmulLoop& loop);
  bool is_done() const { return blocks_.is_done(); }
  int64_t i() const { return blocks_.row(); }
  int64_t j() const { return blocks_.col(); }
  // Blocks the next command moves.
  int64_t blocks() const;
  std::optional<Command> next() { return blocks_.next(); }

 private:
  int64_t j_blocks_;
  int64_t max_blocks_;
  BlockTransfer blocks_;
};

}  // namespace npu::gemmini::loops
