#include "sim/known_values.h"

#include <algorithm>

#include "sim/load_immediate.h"

namespace npu::sim {
namespace {

constexpr size_t kArgumentRegisters = 8;

}  // namespace

KnownValues::KnownValues(size_t registers, const Program& program)
    : registers_(registers), program_(program) {
  const size_t passed = std::min({program.tensors(), kArgumentRegisters, registers});
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
  beginning_.push_back(value);
  return instructions;
}

void KnownValues::put(const KnownValue& value) {
  const auto found = std::find(held_.begin(), held_.end(), value);  // at most once
  if (found != held_.end()) {
    held_.erase(found);
  } else if (held_.size() >= registers_) {
    held_.erase(held_.begin());
  }
  held_.push_back(value);
}

uint32_t KnownValues::cost(const KnownValue& value) {
  if (std::find(held_.begin(), held_.end(), value) != held_.end()) return 0;
  if (is_near(value)) return 1;
  uint32_t best =
      value.address < 0 ? constant(value.offset) : address(value.address) + addition(value.offset);
  for (const std::vector<KnownValue>* registers : {&held_, &beginning_}) {
    for (const KnownValue& held : *registers) {
      if (best <= 2) return best;  // what is not near takes two at least
      if (held.address != value.address) continue;
      best = std::min(best, addition(value.offset - held.offset));
    }
  }
  return best;
}

// Whether an addition makes it, or a move: of what runs on, a copy is needed.
bool KnownValues::is_near(const KnownValue& value) const {
  const auto is_near_to = [&](const KnownValue& held) {
    return held.address == value.address && fits_addition(value.offset - held.offset);
  };
  return std::any_of(held_.begin(), held_.end(), is_near_to) ||
         std::any_of(beginning_.begin(), beginning_.end(), is_near_to);
}

// Instructions of an address anew.
uint32_t KnownValues::address(int32_t index) const {
  const ArgumentAddress form = program_.address(index);
  const KnownValue whole = {static_cast<int32_t>(form.argument), 0};
  const bool is_held = std::find(held_.begin(), held_.end(), whole) != held_.end();
  return (is_held ? 0 : 1) + (form.unit != 0) + (form.low_bit != 0);
}

// Instructions of an addition, what it adds included.
uint32_t KnownValues::addition(uint64_t distance) {
  if (distance == 0) return 0;
  return fits_addition(distance) ? 1 : constant(distance) + 1;
}

uint32_t KnownValues::constant(uint64_t value) {
  // The upper bits of a product are made of all bits.
  Constant& known = constants_[(value * UINT64_C(0x9E3779B97F4A7C15)) >> 56];
  if (known.instructions == 0 || known.value != value) {
    known = {value, static_cast<uint32_t>(load_immediate_instructions(value))};
  }
  return known.instructions;
}

}  // namespace npu::sim
