// One command as the host hands it to a device.
#pragma once

#include <cstdint>

namespace npu::sim {

// A number and two words; a device whose commands have no number takes 0.
struct Command {
  uint8_t funct;
  uint64_t rs1;
  uint64_t rs2;
};

}  // namespace npu::sim
