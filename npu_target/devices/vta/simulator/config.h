// The hardware's numbers, as VtaConfig states them on the Python side.
#pragma once

#include <cstdint>

#include "sim/config_fields.h"

namespace npu::vta {

// The buffers; that of the results is beside the accumulator, as is what a load of bytes fills.
enum Memory : int64_t { kUop = 0, kWgt = 1, kInp = 2, kAcc = 3, kOut = 4, kAccInt8 = 5 };

struct Config {
  using Pairs = sim::ConfigPairs;

  // Throws SimError bad_program for an unknown, missing or repeated key, and for exactly the values
  // that VtaConfig refuses.
  static Config from_pairs(const Pairs& pairs);

  // Every field of VtaConfig except its name, under the same name. Booleans are 0 or 1.
#define FIELD(name, least, most) int64_t name = 0;
#include "vta/limits.def"

  // Throws SimError bad_program for the first limit that is violated.
  void check() const;

  int64_t batch() const { return int64_t{1} << log_batch; }
  int64_t block_in() const { return int64_t{1} << log_block_in; }
  int64_t block_out() const { return int64_t{1} << log_block_out; }

  // A row is what one micro-op takes of a buffer: batch x block_in inputs, block_out x block_in
  // weights, batch x block_out sums, one micro-op.
  int64_t rows(int64_t memory) const {
    const int64_t log_bytes[] = {log_uop_buffer_bytes,     log_wgt_buffer_bytes,
                                 log_inp_buffer_bytes,     log_acc_buffer_bytes,
                                 log_acc_buffer_bytes - 2, log_acc_buffer_bytes - 2};
    return int64_t{1} << (log_bytes[memory] - log_row_bytes(memory));
  }
  int64_t row_bytes(int64_t memory) const { return int64_t{1} << log_row_bytes(memory); }
  int64_t burst_bytes() const { return int64_t{1} << (log_bus_bytes + log_burst_beats); }

 private:
  int64_t log_row_bytes(int64_t memory) const {
    const int64_t sums = log_batch + log_block_out;
    const int64_t logs[] = {
        2, log_block_out + log_block_in, log_batch + log_block_in, sums + 2, sums, sums};
    return logs[memory];
  }
};

}  // namespace npu::vta
