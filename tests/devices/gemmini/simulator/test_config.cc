// The numbers of a device.
#include <cstdint>

#include "device.h"
#include "sim/device_kind.h"

namespace npu::gemmini::testing {
namespace {

const Test versions("gemmini: a config of another version is refused", [] {
  Config::Pairs fields = device_fields();
  fields.pop_back();
  CHECK_FAILS(kBadProgram, Config::from_pairs(fields));
  fields.emplace_back("no_such_field", 1);
  CHECK_FAILS(kBadProgram, Config::from_pairs(fields));
  fields = device_fields();
  fields.push_back(fields.front());
  CHECK_FAILS(kBadProgram, Config::from_pairs(fields));
  for (const auto& [name, value] : Config::Pairs{{"l2_bytes", 64},
                                                 {"bus_bytes", 128},
                                                 {"loads_in_flight", int64_t{1} << 30},
                                                 {"ld_queue_entries", int64_t{1} << 30}}) {
    fields = device_fields();
    for (auto& [field, was] : fields) {
      if (field == name) was = value;
    }
    CHECK_FAILS(kBadProgram, Config::from_pairs(fields));
  }
  for (const int64_t dim : {0, 3, 512, -16}) CHECK_FAILS(kBadProgram, device(dim));
});

}  // namespace
}  // namespace npu::gemmini::testing
