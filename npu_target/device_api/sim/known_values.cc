#include "sim/known_values.h"

#include <algorithm>
#include <limits>

#include "sim/load_immediate.h"

namespace npu::sim {
namespace {

constexpr size_t kArgumentRegisters = 8;

// Of 32 bits with a sign.
bool is_short(uint64_t value) { return value + (uint64_t{1} << 31) < uint64_t{1} << 32; }

}  // namespace

KnownValues::KnownValues(size_t registers, const Program& program)
    : registers_(registers), program_(program) {
  const size_t passed = std::min({program.tensors(), kArgumentRegisters, registers});
  for (size_t i = 0; i < passed; ++i) held_.push_back({static_cast<int32_t>(i), 0});
}

uint32_t KnownValues::make(const KnownValue& value) {
  if (value == KnownValue()) return 0;
  const uint32_t instructions = cost(value);
  if (instructions == 0) held_.erase(place_of(value));
  hold(value);
  return instructions;
}

uint32_t KnownValues::take(const KnownValue& value) {
  // Even 0 has to be moved to where it can run.
  const uint32_t instructions = value == KnownValue() ? 1 : cost(value);
  const auto found = place_of(value);
  if (found != held_.end()) held_.erase(found);
  beginning_.push_back(value);
  return instructions;
}

void KnownValues::put(const KnownValue& value) {
  const auto found = place_of(value);
  if (found != held_.end()) held_.erase(found);
  hold(value);
}

// What no register holds yet.
void KnownValues::hold(const KnownValue& value) {
  if (held_.size() >= registers_) held_.erase(held_.begin());
  held_.push_back(value);
}

// 0 only for what is held.
uint32_t KnownValues::cost(const KnownValue& value) {
  bool is_near = false;  // an addition makes it, or a move: of what runs on, a copy is needed
  for (const KnownValue& held : held_) {
    if (held.address != value.address) continue;
    const uint64_t distance = value.offset - held.offset;
    if (distance == 0) return 0;
    is_near = is_near || fits_addition(distance);
  }
  for (const KnownValue& held : beginning_) {
    is_near =
        is_near || (held.address == value.address && fits_addition(value.offset - held.offset));
  }
  if (is_near) return 1;
  const uint32_t anew =
      value.address < 0 ? constant(value.offset) : address(value.address) + addition(value.offset);
  if (anew <= 2) return anew;  // what is not near takes two at least
  // Three are the most of 32 bits, and the least of more.
  const uint32_t shorter = std::min(anew, least_addition(value, is_short));
  const auto is_any = [](uint64_t) { return true; };
  return shorter <= 3 ? shorter : std::min(shorter, least_addition(value, is_any));
}

// Of the distances from what registers hold that are asked for.
template <typename IsAsked>
uint32_t KnownValues::least_addition(const KnownValue& value, const IsAsked& is_asked) {
  uint32_t least = std::numeric_limits<uint32_t>::max();
  for (const std::vector<KnownValue>* registers : {&held_, &beginning_}) {
    for (const KnownValue& held : *registers) {
      const uint64_t distance = value.offset - held.offset;
      if (held.address != value.address || !is_asked(distance)) continue;
      least = std::min(least, addition(distance));
    }
  }
  return least;
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
  if (is_short(value)) return static_cast<uint32_t>(load_immediate_instructions(value));
  // The upper bits of a product are made of all bits.
  Constant& known = constants_[(value * UINT64_C(0x9E3779B97F4A7C15)) >> 56];
  if (known.instructions == 0 || known.value != value) {
    known = {value, static_cast<uint32_t>(load_immediate_instructions(value))};
  }
  return known.instructions;
}

}  // namespace npu::sim
