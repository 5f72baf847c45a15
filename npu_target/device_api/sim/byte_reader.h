// Little-endian reading of untrusted bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/error.h"

namespace npu::sim {

// Every read past the end throws SimError bad_program saying where.
class ByteReader {
 public:
  // `what` names the bytes in messages. The bytes must outlive the reader.
  ByteReader(std::string_view bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {}

  uint8_t u8() { return static_cast<uint8_t>(integer(1)); }
  uint16_t u16() { return static_cast<uint16_t>(integer(2)); }
  uint32_t u32() { return static_cast<uint32_t>(integer(4)); }
  uint64_t u64() { return integer(8); }
  int64_t i64() { return static_cast<int64_t>(u64()); }

  // A count, then as many bytes of UTF-8.
  std::string text() {
    const std::string value(take(u32()));
    if (!is_utf8(value)) fail("needs UTF-8 text, has other bytes");
    return value;
  }

  // A count of items of at least `item_bytes` each, no more than the rest could hold.
  uint32_t count(size_t item_bytes) {
    const uint32_t value = u32();
    if (value > remaining() / item_bytes) {
      fail("needs " + std::to_string(value) + " items, has room for " +
           std::to_string(remaining() / item_bytes));
    }
    return value;
  }

  std::string_view take(size_t size) {
    if (size > remaining()) {
      fail("needs " + std::to_string(size) + " B, has " + std::to_string(remaining()) +
           " B; the file is cut off");
    }
    const std::string_view taken = bytes_.substr(position_, size);
    position_ += size;
    return taken;
  }

  size_t remaining() const { return bytes_.size() - position_; }

  [[noreturn]] void fail(const std::string& needs) const {
    throw SimError(ErrorKind::kBadProgram, -1,
                   what_ + ", byte " + std::to_string(position_) + ": " + needs);
  }

 private:
  uint64_t integer(size_t size) {
    const std::string_view taken = take(size);
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      value |= static_cast<uint64_t>(static_cast<uint8_t>(taken[i])) << (8 * i);
    }
    return value;
  }

  static bool is_utf8(std::string_view text);

  std::string_view bytes_;
  std::string what_;
  size_t position_ = 0;
};

}  // namespace npu::sim
