#include "gemmini/simulator/loops/matmul_units.h"

#include <algorithm>
#include <utility>

#include "gemmini/simulator/loops/encode.h"

namespace npu::gemmini::loops {
namespace {

BlockTransfer::Matrix matrix_a(const MatmulLoop& loop) {
  BlockTransfer::Matrix a{};
  a.funct = kMvin;
  a.dram_address = loop.has_load_a ? loop.a_address : 0;
  a.stride = loop.a_stride;
  a.element_bytes = 1;
  a.local_address = (loop.is_residual_add ? kAccBit : 0) | static_cast<uint32_t>(loop.a_row);
  a.dim = loop.dim;
  a.rows = loop.i_blocks;
  a.cols = loop.is_residual_add ? loop.j_blocks : loop.k_blocks;
  a.row_pad = loop.i_pad;
  a.col_pad = loop.is_residual_add ? loop.j_pad : loop.k_pad;
  a.max_blocks = loop.max_blocks;
  a.is_row_inner = true;
  if (loop.is_a_transposed) {
    std::swap(a.rows, a.cols);
    std::swap(a.row_pad, a.col_pad);
    a.is_row_inner = false;
  }
  return a;
}

BlockTransfer::Matrix matrix_b(const MatmulLoop& loop, AbsentRows absent_rows) {
  BlockTransfer::Matrix b{};
  b.funct = kMvin2;
  b.dram_address = loop.has_load_b ? loop.b_address : 0;
  b.stride = loop.b_stride;
  b.element_bytes = 1;
  b.local_address =
      (loop.is_residual_add ? kAccBit | kAccumulateBit : 0) | static_cast<uint32_t>(loop.b_row);
  b.dim = loop.dim;
  b.rows = loop.is_residual_add ? loop.i_blocks : loop.k_blocks;
  b.cols = loop.j_blocks;
  b.row_pad = loop.is_residual_add ? loop.i_pad : loop.k_pad;
  b.col_pad = loop.j_pad;
  b.max_blocks = loop.max_blocks;
  b.is_row_inner = false;
  if (loop.is_b_transposed) {
    std::swap(b.rows, b.cols);
    std::swap(b.row_pad, b.col_pad);
    b.is_row_inner = true;
  }
  if (absent_rows == AbsentRows::kLoaded) b.row_pad = 0;
  return b;
}

BlockTransfer::Matrix matrix_d(const MatmulLoop& loop) {
  BlockTransfer::Matrix d{};
  d.funct = kMvin3;
  d.dram_address = loop.has_load_d ? loop.d_address : 0;
  d.stride = loop.d_stride;
  d.element_bytes = loop.is_low_d ? 1 : 4;
  d.local_address = kAccBit | static_cast<uint32_t>(loop.load_d_row);
  d.dim = loop.dim;
  d.rows = loop.i_blocks;
  d.cols = loop.j_blocks;
  d.row_pad = loop.i_pad;
  d.col_pad = loop.j_pad;
  d.max_blocks = loop.is_low_d ? loop.max_blocks : loop.max_acc_blocks;
  d.is_row_inner = true;
  return d;
}

BlockTransfer::Matrix matrix_c(const MatmulLoop& loop) {
  BlockTransfer::Matrix c{};
  c.funct = kMvout;
  c.dram_address = loop.has_store ? loop.c_address : 0;
  c.stride = loop.c_stride;
  c.element_bytes = loop.is_full_c ? 4 : 1;
  c.local_address =
      kAccBit | (loop.is_full_c ? kFullWidthBit : 0) | static_cast<uint32_t>(loop.store_c_row);
  c.dim = loop.dim;
  c.rows = loop.i_blocks;
  c.cols = loop.j_blocks;
  c.row_pad = loop.i_pad;
  c.col_pad = loop.j_pad;
  c.max_blocks = loop.is_full_c ? 1 : loop.max_blocks;
  c.is_row_inner = true;
  return c;
}

}  // namespace

BlockTransfer::BlockTransfer(const Matrix& matrix)
    : matrix_(matrix), is_done_(matrix.dram_address == 0) {
  matrix_.max_blocks = std::min(matrix_.max_blocks, matrix_.cols);
}

std::optional<Command> BlockTransfer::next() {
  if (is_done_) return std::nullopt;
  const Matrix& m = matrix_;
  const int64_t blocks = std::min(m.max_blocks, m.cols - col_);
  const int64_t cols = blocks * m.dim - (col_ + blocks == m.cols ? m.col_pad : 0);
  const int64_t rows = m.dim - (row_ == m.rows - 1 ? m.row_pad : 0);
  const uint64_t element = (static_cast<uint64_t>(row_) * m.stride + static_cast<uint64_t>(col_)) *
                           static_cast<uint64_t>(m.dim);
  const uint32_t local = m.local_address + static_cast<uint32_t>((row_ * m.cols + col_) * m.dim);
  const Command command{
      m.funct, dram_address(m.dram_address, element * static_cast<uint64_t>(m.element_bytes)),
      local_operand(local, rows, cols)};
  int64_t& inner = m.is_row_inner ? row_ : col_;
  int64_t& outer = m.is_row_inner ? col_ : row_;
  inner += m.is_row_inner ? 1 : m.max_blocks;
  if (inner >= (m.is_row_inner ? m.rows : m.cols)) {
    inner = 0;
    outer += m.is_row_inner ? m.max_blocks : 1;
    if (outer >= (m.is_row_inner ? m.cols : m.rows)) {
      outer = 0;
      is_done_ = true;
    }
  }
  return command;
}

MatmulLoadA::MatmulLoadA(const MatmulLoop& loop)
    : is_transposed_(loop.is_a_transposed), blocks_(matrix_a(loop)) {}

MatmulLoadB::MatmulLoadB(const MatmulLoop& loop, AbsentRows absent_rows)
    : is_transposed_(loop.is_b_transposed), blocks_(matrix_b(loop, absent_rows)) {}

MatmulLoadD::MatmulLoadD(const MatmulLoop& loop) : blocks_(matrix_d(loop)) {}

MatmulExecute::MatmulExecute(const MatmulLoop& loop)
    : loop_(loop), is_done_(!loop.has_execute || loop.is_residual_add) {}

std::optional<Command> MatmulExecute::next() {
  if (is_done_) return std::nullopt;
  if (!is_preloaded_) {
    is_preloaded_ = true;
    return preload();
  }
  const Command command = compute();
  is_preloaded_ = false;
  advance();
  return command;
}

Command MatmulExecute::preload() const {
  const MatmulLoop& loop = loop_;
  const int64_t block = loop.is_b_transposed ? j_ * loop.k_blocks + k_ : k_ * loop.j_blocks + j_;
  const int64_t c_block = i_ * loop.j_blocks + j_;
  const int64_t b_rows = loop.dim - (k_ == loop.k_blocks - 1 ? loop.k_pad : 0);
  const int64_t c_rows = loop.dim - (i_ == loop.i_blocks - 1 ? loop.i_pad : 0);
  const int64_t cols = loop.dim - (j_ == loop.j_blocks - 1 ? loop.j_pad : 0);
  const uint32_t b =
      i_ == 0 ? static_cast<uint32_t>(loop.b_row + block * loop.dim) : kGarbageAddress;
  const uint32_t c = kAccBit | (loop.accumulates || k_ != 0 ? kAccumulateBit : 0) |
                     static_cast<uint32_t>(loop.execute_c_row + c_block * loop.dim);
  return {kPreload, local_operand(b, b_rows, cols), local_operand(c, c_rows, cols)};
}

Command MatmulExecute::compute() const {
  const MatmulLoop& loop = loop_;
  const int64_t block = loop.is_a_transposed ? k_ * loop.i_blocks + i_ : i_ * loop.k_blocks + k_;
  const int64_t rows = loop.dim - (i_ == loop.i_blocks - 1 ? loop.i_pad : 0);
  const int64_t cols = loop.dim - (k_ == loop.k_blocks - 1 ? loop.k_pad : 0);
  const uint32_t a = static_cast<uint32_t>(loop.a_row + block * loop.dim);
  return {i_ == 0 ? kComputePreloaded : kComputeAccumulated, local_operand(a, rows, cols),
          local_operand(kGarbageAddress, loop.dim, loop.dim)};
}

void MatmulExecute::advance() {
  if (++i_ < loop_.i_blocks) return;
  i_ = 0;
  if (++j_ < loop_.j_blocks) return;
  j_ = 0;
  if (++k_ < loop_.k_blocks) return;
  k_ = 0;
  is_done_ = true;
}

MatmulStore::MatmulStore(const MatmulLoop& loop)
    : j_blocks_(loop.j_blocks),
      max_blocks_(loop.is_full_c ? 1 : loop.max_blocks),
      blocks_(matrix_c(loop)) {}

int64_t MatmulStore::blocks() const { return std::min(max_blocks_, j_blocks_ - j()); }

}  // namespace npu::gemmini::loops
