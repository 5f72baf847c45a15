// The hardware's numbers, as GemminiConfig states them on the Python side.
#pragma once

#include <cstdint>

#include "sim/config_fields.h"

namespace npu::gemmini {

// The largest value of a field, by its name.
struct Most {
#define FIELD(name, least, most) static constexpr int64_t name = most;
#include "gemmini/limits.def"
};

// A run of the array takes at least so many rows, on every device: the accumulator needs it between
// two writes to one row (ExecuteController: `total_rows`).
inline constexpr int64_t kLeastRowsFed = 4;

struct Config {
  using Pairs = sim::ConfigPairs;

  // Throws SimError bad_program for an unknown, missing or repeated key, and for exactly the values
  // that GemminiConfig refuses.
  static Config from_pairs(const Pairs& pairs);

  // Every field of GemminiConfig except its name, under the same name. Booleans are 0 or 1.
#define FIELD(name, least, most) int64_t name = 0;
#include "gemmini/limits.def"

  // Throws SimError bad_program for the first limit that is violated.
  void check() const;

  int64_t spad_rows() const { return spad_banks * spad_bank_rows; }
  int64_t acc_rows() const { return acc_banks * acc_bank_rows; }

  // Columns one command may move, with elements of `element_bytes` in memory.
  int64_t dma_max_cols(int64_t element_bytes) const {
    const int64_t blocks = dma_request_bytes / (dim * element_bytes);
    return dim * (blocks > 1 ? blocks : 1);
  }
};

}  // namespace npu::gemmini
