// The CRC-32 of zlib (polynomial 0xEDB88320).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace npu::sim {

inline uint32_t crc32(std::string_view bytes) {
  constexpr size_t kAtOnce = 8;
  // What a byte makes of the checksum that so many other bytes follow.
  static const auto kTables = [] {
    std::array<std::array<uint32_t, 256>, kAtOnce> tables{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0u);
      tables[0][i] = value;
    }
    for (size_t behind = 1; behind < kAtOnce; ++behind) {
      for (uint32_t i = 0; i < 256; ++i) {
        const uint32_t value = tables[behind - 1][i];
        tables[behind][i] = value >> 8 ^ tables[0][value & 0xFF];
      }
    }
    return tables;
  }();
  const auto byte_at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  uint32_t crc = 0xFFFFFFFFu;
  size_t at = 0;
  for (; at + kAtOnce <= bytes.size(); at += kAtOnce) {
    uint32_t next = 0;
    for (size_t i = 0; i < kAtOnce; ++i) {
      const uint32_t before = i < sizeof crc ? crc >> 8 * i & 0xFF : 0;
      next ^= kTables[kAtOnce - 1 - i][before ^ byte_at(at + i)];
    }
    crc = next;
  }
  for (; at < bytes.size(); ++at) crc = crc >> 8 ^ kTables[0][(crc ^ byte_at(at)) & 0xFF];
  return ~crc;
}

}  // namespace npu::sim
