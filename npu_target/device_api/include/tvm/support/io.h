// TVM's tensor.h includes this header, which its wheel does not carry. These are the names it
// uses, enough to compile; no stream of TVM's ever crosses into this library.
#pragma once

#include <cstddef>
#include <type_traits>

namespace tvm {
namespace support {

class Stream {
 public:
  virtual ~Stream() = default;
  virtual size_t Read(void* data, size_t size) = 0;
  virtual size_t Write(const void* data, size_t size) = 0;

  template <typename T>
  bool Read(T* value) {
    return ReadArray(value, 1);
  }
  template <typename T>
  void Write(const T& value) {
    WriteArray(&value, 1);
  }
  template <typename T>
  bool ReadArray(T* values, size_t count) {
    static_assert(std::is_trivially_copyable<T>::value, "only plain values");
    return Read(static_cast<void*>(values), count * sizeof(T)) == count * sizeof(T);
  }
  template <typename T>
  void WriteArray(const T* values, size_t count) {
    static_assert(std::is_trivially_copyable<T>::value, "only plain values");
    Write(static_cast<const void*>(values), count * sizeof(T));
  }
};

}  // namespace support
}  // namespace tvm
