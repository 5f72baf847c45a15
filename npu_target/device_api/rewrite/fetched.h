// When more code pays.
#pragma once

#include <cstdint>

namespace npu::rewrite {

// Instructions to be saved for a command more in the program. Its code is fetched once, in the time
// of six; and what is saved brings nothing while the device is busy anyway.
constexpr int64_t kFetched = 16;

}  // namespace npu::rewrite
