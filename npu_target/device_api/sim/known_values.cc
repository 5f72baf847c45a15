#include "known_values.h"

#include <algorithm>

#include "load_immediate.h"

namespace npu::sim {
namespace {

constexpr size_t kArgumentRegisters = 8;

// Instructions of an addition, what it adds included.
uint32_t addition(uint64_t distance) {
  if (distance == 0) return 0;
  if (fits_addition(distance)) return 1;
  return static_cast<uint32_t>(load_immediate_instructions(distance)) + 1;
}

}  // namespace

KnownValues::KnownValues(size_t registers, size_t arguments) : registers_(registers) {
  const size_t passed = std::min({arguments, kArgumentRegisters, registers});
  for (size_t i = 0; i < passed; ++i) held_.push_back({static_cast<int32_t>(i), 0});
}

uint32_t KnownValues::make(const KnownValue& value) {
  if (value == KnownValue()) return 0;
  const uint32_t instructions = cost(value);
  put(value);
  return instructions;
}

uint32_t KnownValues::take(const KnownValue& value) {
  // Even 0 has to be moved to where it can run.
  const uint32_t instructions = value == KnownValue() ? 1 : cost(value);
  held_.erase(std::remove(held_.begin(), held_.end(), value), held_.end());
  return instructions;
}

void KnownValues::put(const KnownValue& value) {
  held_.erase(std::remove(held_.begin(), held_.end(), value), held_.end());
  if (held_.size() >= registers_) held_.erase(held_.begin());
  held_.push_back(value);
}

uint32_t KnownValues::cost(const KnownValue& value) const {
  uint32_t best = value.address < 0
                      ? static_cast<uint32_t>(load_immediate_instructions(value.offset))
                      : 1 + addition(value.offset);
  for (const KnownValue& held : held_) {
    if (held.address == value.address) best = std::min(best, addition(value.offset - held.offset));
  }
  return best;
}

}  // namespace npu::sim
