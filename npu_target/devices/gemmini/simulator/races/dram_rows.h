// Bytes of DRAM that a command reads or writes.
#pragma once

#include <cstdint>

namespace npu::gemmini::races {

// So many rows of so many bytes, `stride_bytes` apart, modulo 2^64.
struct DramRows {
  uint64_t address = 0;
  uint64_t stride_bytes = 0;
  uint64_t rows = 0;
  uint64_t row_bytes = 0;

  bool is_empty() const { return rows == 0 || row_bytes == 0; }
  uint64_t row(uint64_t i) const { return address + i * stride_bytes; }

  // From the first byte to behind the last one; of rows that wrap around, all there is.
  uint64_t begin() const { return wraps() ? 0 : address; }
  uint64_t end() const {
    return wraps() ? UINT64_MAX : address + (rows - 1) * stride_bytes + row_bytes;
  }

  bool may_overlap(const DramRows& other) const {
    return !is_empty() && !other.is_empty() && begin() < other.end() && other.begin() < end();
  }
  // Byte for byte.
  bool overlaps(const DramRows& other) const {
    if (!may_overlap(other)) return false;
    for (uint64_t i = 0; i < rows; ++i) {
      for (uint64_t j = 0; j < other.rows; ++j) {
        const uint64_t a = row(i), b = other.row(j);
        if (a - b < other.row_bytes || b - a < row_bytes) return true;
      }
    }
    return false;
  }

 private:
  bool wraps() const {
    uint64_t span = 0;
    return __builtin_mul_overflow(rows - 1, stride_bytes, &span) ||
           __builtin_add_overflow(span, row_bytes, &span) ||
           __builtin_add_overflow(span, address, &span);
  }
};

}  // namespace npu::gemmini::races
