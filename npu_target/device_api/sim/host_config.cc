#include "sim/host_config.h"

#include <algorithm>

namespace npu::sim {
namespace {

constexpr ConfigField<HostConfig> kFields[] = {
#define FIELD(name, least, most) {#name, &HostConfig::name},
#define POWER_OF_TWO(name)
#define AT_LEAST(value, least)
#include "sim/host_limits.def"
#undef FIELD
#undef POWER_OF_TWO
#undef AT_LEAST
};

}  // namespace

void HostConfig::check() const {
#define FIELD(name, least, most) check_range(#name, name, least, most);
#define POWER_OF_TWO(name)
#define AT_LEAST(value, least)
#include "sim/host_limits.def"
#undef FIELD
#undef POWER_OF_TWO
#undef AT_LEAST
#define FIELD(name, least, most)
#define POWER_OF_TWO(name) check_power_of_two(#name, name);
#define AT_LEAST(value, least) check_at_least(#value, value, #least, least);
#include "sim/host_limits.def"
#undef FIELD
#undef POWER_OF_TWO
#undef AT_LEAST
}

HostConfig HostConfig::from_pairs(const ConfigPairs& numbers) {
  ConfigPairs own;
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(own), [](const auto& number) {
    return std::any_of(std::begin(kFields), std::end(kFields),
                       [&](const auto& field) { return number.first == field.name; });
  });
  HostConfig config = config_from_pairs(kFields, own);
  config.check();
  return config;
}

}  // namespace npu::sim
