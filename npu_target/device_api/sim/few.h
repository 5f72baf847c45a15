// A vector of a few, which lie in itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

namespace npu::sim {

// Only more than kInside take memory besides, and with it the time to get it: what programs are
// made of has mostly one part or two, and is made over and over again.
template <typename T, uint32_t kInside>
class Few {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;

  Few() = default;
  Few(std::initializer_list<T> values) { append(values.begin(), values.end()); }
  Few(const Few& other) { append(other.begin(), other.end()); }
  Few(Few&& other) noexcept { take(other); }
  Few& operator=(const Few& other) {
    if (this == &other) return *this;
    clear();
    append(other.begin(), other.end());
    return *this;
  }
  Few& operator=(Few&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }

  T* begin() { return outside_ ? outside_.get() : inside_; }
  T* end() { return begin() + size_; }
  const T* begin() const { return outside_ ? outside_.get() : inside_; }
  const T* end() const { return begin() + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t at) { return begin()[at]; }
  const T& operator[](size_t at) const { return begin()[at]; }

  void reserve(size_t size) {
    if (size <= capacity_) return;
    const size_t capacity = std::max<size_t>(size, size_t{2} * capacity_);
    std::unique_ptr<T[]> more(new T[capacity]);
    std::copy(begin(), end(), more.get());
    outside_ = std::move(more);
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void push_back(const T& value) {
    const T kept = value;  // which may be one of these
    reserve(size_ + 1);
    begin()[size_++] = kept;
  }
  void append(const T* first, const T* last) {
    reserve(size_ + static_cast<size_t>(last - first));
    std::copy(first, last, end());
    size_ += static_cast<uint32_t>(last - first);
  }
  void erase(T* first, T* last) {
    size_ = static_cast<uint32_t>(std::copy(last, end(), first) - begin());
  }
  void clear() { size_ = 0; }

  bool operator==(const Few& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  void take(Few& other) {
    outside_ = std::move(other.outside_);
    if (!outside_) std::copy(other.inside_, other.inside_ + other.size_, inside_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, kInside);
  }

  std::unique_ptr<T[]> outside_;  // all, if they are more than fit
  uint32_t size_ = 0;
  uint32_t capacity_ = kInside;
  T inside_[kInside];
};

}  // namespace npu::sim
