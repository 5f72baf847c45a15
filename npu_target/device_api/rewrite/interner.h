// One object for all that is equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_set>
#include <utility>

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
    const auto found = known_.find(&value);
    if (found != known_.end()) return *found;
    kept_.push_back(std::move(value));
    known_.insert(&kept_.back());
    return &kept_.back();
  }

 private:
  struct Hash {
    size_t operator()(const T* value) const { return static_cast<size_t>(value->hash()); }
  };
  struct Equal {
    bool operator()(const T* a, const T* b) const { return *a == *b; }
  };
  std::deque<T> kept_;  // does not move what it has
  std::unordered_set<const T*, Hash, Equal> known_;
};

}  // namespace npu::rewrite
