// What every kind of device says of itself: the clock, and the host core in front of it.
#pragma once

#include <cstdint>

#include "sim/config_fields.h"

namespace npu::sim {

struct HostConfig {
  // From all numbers of a device. Throws SimError bad_program for one that is missing, and for the
  // first limit that is violated.
  static HostConfig from_pairs(const ConfigPairs& numbers);

  // The fields of DeviceConfig except its name, under the same name.
#define FIELD(name, least, most) int64_t name = 0;
#define POWER_OF_TWO(name)
#define AT_LEAST(value, least)
#include "sim/host_limits.def"
#undef FIELD
#undef POWER_OF_TWO
#undef AT_LEAST

 private:
  void check() const;
};

}  // namespace npu::sim
