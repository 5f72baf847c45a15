#include "vta/simulator/config.h"

namespace npu::vta {
namespace {

constexpr sim::ConfigField<Config> kFields[] = {
#define FIELD(name, least, most) {#name, &Config::name},
#include "vta/limits.def"
};

}  // namespace

void Config::check() const {
#define FIELD(name, least, most) sim::check_range(#name, name, least, most);
#include "vta/limits.def"
#define POWER_OF_TWO(name) sim::check_power_of_two(#name, name);
#define AT_LEAST(value, least) sim::check_at_least(#value, value, #least, least);
#define AT_MOST(value, most, reason) sim::check_at_most(#value, value, #most, most, reason);
#include "vta/limits.def"
}

Config Config::from_pairs(const Pairs& pairs) {
  Config config = sim::config_from_pairs(kFields, pairs);
  config.check();
  return config;
}

}  // namespace npu::vta
