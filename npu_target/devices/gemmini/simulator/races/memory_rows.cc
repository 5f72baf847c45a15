#include "gemmini/simulator/races/memory_rows.h"

namespace npu::gemmini::races {

// To the end of its bank of the accumulator; from the last bank, to the end of the memory. Of the
// scratchpad, the address says whether that bank is the last; otherwise its end, which is of the
// accumulator, compares with nothing, and only the first row is seen.
int64_t MemoryRows::pooled_order_end(int64_t start) const {
  const int64_t bank = (start - begin(is_acc(start))) / acc_bank_rows_;
  const int64_t banks = acc_rows_ / acc_bank_rows_;
  if ((bank + 1) % banks == 0) return end(is_acc(start));
  return is_acc(start) ? spad_rows_ + (bank + 1) * acc_bank_rows_ : start + 1;
}

BankMask MemoryRows::acc_banks(const Span& rows) const {
  BankMask banks = 0;
  if (rows.is_empty()) return banks;
  const int64_t last = (rows.end - 1 - spad_rows_) / acc_bank_rows_;
  for (int64_t bank = (rows.start - spad_rows_) / acc_bank_rows_; bank <= last; ++bank) {
    banks |= BankMask{1} << bank;
  }
  return banks;
}

std::string MemoryRows::text(const Span& rows) const {
  const int64_t first = begin(is_acc(rows.start));
  return "rows " + std::to_string(rows.start - first) + " to " +
         std::to_string(rows.end - 1 - first) + " of the " +
         (is_acc(rows.start) ? "accumulator" : "scratchpad");
}

}  // namespace npu::gemmini::races
