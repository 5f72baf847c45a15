#include "device_api/cpp/check.h"
#include "gemmini/simulator/races/row_times.h"

#include <algorithm>
#include <random>
#include <vector>

namespace npu::gemmini::testing {
namespace {

using races::RowTimes;
using races::Span;
using sim::testing::Test;

const Test random_uses("races/row_times: the latest use of each row, as if each had a time", [] {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int64_t most) { return static_cast<int64_t>(random() % most); };
    const int64_t count = 40 + below(300);
    const int64_t most_rows = seed % 3 == 0 ? 60 : seed % 3 == 1 ? 20 : 5;
    RowTimes times(count);
    std::vector<int32_t> rows(static_cast<size_t>(count), 0);
    int32_t now = 1;
    for (int i = 0; i < 400; ++i) {
      now += below(4) == 0 ? 1 : 0;
      const int64_t start = below(2) == 0 ? below(count) : below(count) / 8 * 8;
      const Span span{start, std::min(count, start + below(most_rows))};
      if (below(3) != 0) {
        times.use(span, now);
        std::fill(rows.begin() + span.start, rows.begin() + span.end, now);
        continue;
      }
      int32_t latest = static_cast<int32_t>(below(now + 1));
      const int32_t found = times.latest(span, latest);
      for (int64_t row = span.start; row < span.end; ++row) {
        latest = std::max(latest, rows[static_cast<size_t>(row)]);
      }
      CHECK_EQUAL(found, latest);
    }
  }
});

}  // namespace
}  // namespace npu::gemmini::testing
