// One object for all that is equal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace npu::rewrite {

inline uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

inline uint64_t mixed(uint64_t hash, const void* pointer) {
  return mixed(hash, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(pointer)));
}

// Keeps one T for all that are equal, as long as it lives itself, so that comparing two of them is
// comparing two addresses. T has hash() and ==.
template <typename T>
class Interner {
 public:
  const T* get(T&& value) {
    const uint64_t hash = value.hash();
    if (2 * (kept_.size() + 1) > known_.size()) grow();
    Known& place = place_of(hash, [&](const T& other) { return other == value; });
    if (place.value == nullptr) {
      kept_.push_back(std::move(value));
      place = {hash, &kept_.back()};
    }
    return place.value;
  }

 private:
  struct Known {
    uint64_t hash;
    const T* value;  // nullptr: none
  };

  // Where one is that is the same, or has room.
  template <typename IsSame>
  Known& place_of(uint64_t hash, const IsSame& is_same) {
    const size_t mask = known_.size() - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      Known& place = known_[at];
      if (place.value == nullptr || (place.hash == hash && is_same(*place.value))) return place;
    }
  }

  void grow() {
    std::vector<Known> before(std::max<size_t>(kLeast, 2 * known_.size()));
    before.swap(known_);
    const auto is_same = [](const T&) { return false; };
    for (const Known& known : before) {
      if (known.value != nullptr) place_of(known.hash, is_same) = known;
    }
  }

  static constexpr size_t kLeast = 64;

  std::deque<T> kept_;        // does not move what it has
  std::vector<Known> known_;  // by hash, each at the first free place; a power of two
};

}  // namespace npu::rewrite
