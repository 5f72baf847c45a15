// The memories of the device: five buffers of rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vta/simulator/command.h"
#include "vta/simulator/config.h"

namespace npu::vta {

template <typename T>
struct Buffer {
  Buffer(const char* name, int64_t rows, int64_t row_elements)
      : name(name), row_elements(row_elements), elements(rows * row_elements), is_defined(rows) {}

  int64_t rows() const { return static_cast<int64_t>(is_defined.size()); }
  const T* row(int64_t index) const { return elements.data() + index * row_elements; }
  T* row(int64_t index) { return elements.data() + index * row_elements; }

  // For a command that writes the row. Throws SimError address_out_of_range.
  T* row_of(const IssuedCommand& issued, int64_t index) {
    if (index >= rows()) {
      issued.fail(
          sim::ErrorKind::kAddressOutOfRange,
          "needs row " + std::to_string(index) + " of " + name + ", has " + std::to_string(rows()));
    }
    return row(index);
  }

  // For a command that reads the row. Throws SimError undefined_configuration, too.
  T* defined_row_of(const IssuedCommand& issued, int64_t index) {
    T* found = row_of(issued, index);
    if (!is_defined[index]) {
      issued.fail(
          sim::ErrorKind::kUndefinedConfiguration,
          "needs row " + std::to_string(index) + " of " + name + ", which nothing has written");
    }
    return found;
  }

  const char* name;
  int64_t row_elements;
  std::vector<T> elements;
  // Whether a row holds what a command put there.
  std::vector<uint8_t> is_defined;
};

struct Buffers {
  explicit Buffers(const Config& config)
      : uop("uop", config.rows(kUop), 1),
        inp("inp", config.rows(kInp), config.row_bytes(kInp)),
        wgt("wgt", config.rows(kWgt), config.row_bytes(kWgt)),
        acc("acc", config.rows(kAcc), config.row_bytes(kOut)),
        out("out", config.rows(kOut), config.row_bytes(kOut)) {}

  template <typename Fn>
  void for_each(Fn&& fn) {
    fn(uop), fn(inp), fn(wgt), fn(acc), fn(out);
  }

  Buffer<uint32_t> uop;
  Buffer<int8_t> inp;
  Buffer<int8_t> wgt;
  Buffer<int32_t> acc;
  // What a store reads: the low bytes of the sums, written beside them by the GEMM and ALU commands
  // only. Whatever else writes the accumulator leaves a row here undefined.
  Buffer<int8_t> out;
};

// The rows of one step of a GEMM or ALU command. Of the accumulator: dst, and src of an ALU
// command.
struct Step {
  int64_t dst;
  int64_t src;
  int64_t wgt;
};

// Calls `run(step)` for each micro-op in each turn of the loops, in the hardware's order. Rows may
// be beyond the buffers. Throws SimError undefined_configuration for micro-ops that nothing loaded.
template <typename Run>
void for_each_step(const IssuedCommand& issued, Buffer<uint32_t>& uops, Run&& run) {
  const Command& command = issued.command;
  for (int64_t y = 0; y < command.iter_out; ++y) {
    for (int64_t x = 0; x < command.iter_in; ++x) {
      const int64_t dst = y * command.dst_factor_out + x * command.dst_factor_in;
      const int64_t src = y * command.src_factor_out + x * command.src_factor_in;
      const int64_t wgt = y * command.wgt_factor_out + x * command.wgt_factor_in;
      for (int64_t i = command.uop_begin; i < command.uop_end; ++i) {
        const uint32_t uop = *uops.defined_row_of(issued, i);
        run(Step{dst + (uop & 0x7FF), src + (uop >> 11 & 0x7FF), wgt + (uop >> 22)});
      }
    }
  }
}

}  // namespace npu::vta
