// The CRC-32 of zlib (polynomial 0xEDB88320).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace npu::sim {

inline uint32_t crc32(std::string_view bytes) {
  static const std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < table.size(); ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0u);
      table[i] = value;
    }
    return table;
  }();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
  return ~crc;
}

}  // namespace npu::sim
