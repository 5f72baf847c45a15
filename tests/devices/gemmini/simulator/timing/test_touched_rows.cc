// Which rows commands read and write, as slices tell it.
#include <map>

#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/recorder.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

using timing::Lane;
using timing::Recorder;
using timing::RowRange;
using timing::Slice;
using timing::TouchedRows;

// By the lane of its unit, for streams that have one command in each.
std::map<Lane, TouchedRows> rows_of(const Stream& stream, const Stream& setup = usual_setup()) {
  std::map<Lane, TouchedRows> rows;
  Recorder recorder([&](const Slice& slice) { rows[slice.lane] = slice.rows; });
  recorder.set_origin(timing::kNever);
  Timing timing(timing_device());
  timing.record(&recorder);
  for (const Command& command : setup) timing.issue(command, 1);
  recorder.set_origin(static_cast<timing::Cycle>(timing.finish()));
  for (const Command& command : stream) timing.issue(command, 1);
  timing.finish();
  return rows;
}

bool is_empty(const RowRange& rows) { return rows.start >= rows.end; }
bool is_none(const TouchedRows& rows) {
  return is_empty(rows.reads[0]) && is_empty(rows.reads[1]) && is_empty(rows.writes);
}
bool are(const RowRange& rows, int64_t start, int64_t end) {
  return rows.start == start && rows.end == end;
}
const int64_t kSums = RowRange::kAccBase;

const Test moves("timing/touched_rows: loads write and stores read", [] {
  auto rows = rows_of({mvin(kDram, 32, 8, 16), mvout(kDram, 48, 4, 16)});
  CHECK(are(rows[Lane::kLoad].writes, 32, 40));
  CHECK(is_empty(rows[Lane::kLoad].reads[0]));
  CHECK(are(rows[Lane::kStore].reads[0], 48, 52));
  CHECK(is_empty(rows[Lane::kStore].writes));
});

const Test sums("timing/touched_rows: what is added to is read as well", [] {
  CHECK(is_empty(rows_of({mvin(kDram, kAcc + 16, 8, 16)})[Lane::kLoad].reads[0]));
  auto rows = rows_of({mvin(kDram, kAccumulate + 16, 8, 16)});
  CHECK(are(rows[Lane::kLoad].writes, kSums + 16, kSums + 24));
  CHECK(are(rows[Lane::kLoad].reads[0], kSums + 16, kSums + 24));
});

const Test products("timing/touched_rows: a product reads its operands and writes its result", [] {
  auto rows = rows_of({preload(64, kAcc + 32, 4), compute(16, 4)});
  CHECK(are(rows[Lane::kPreload].reads[0], 64, 80));
  CHECK(is_empty(rows[Lane::kPreload].reads[1]));
  CHECK(are(rows[Lane::kPreload].writes, kSums + 32, kSums + 36));
  CHECK(are(rows[Lane::kExecute].reads[0], 16, 20));
  CHECK(is_empty(rows[Lane::kExecute].reads[1]));
  CHECK(is_empty(rows[Lane::kExecute].writes));
  rows = rows_of({preload(64, kAccumulate + 32, 4), compute(16, 4)});
  CHECK(are(rows[Lane::kPreload].reads[1], kSums + 32, kSums + 36));
});

const Test others("timing/touched_rows: configuration, the host and the array's reasons have none",
                  [] {
                    auto rows = rows_of({config_ex(), config_ld(64), config_st(64)});
                    for (const auto& [lane, touched] : rows) CHECK(is_none(touched));
                    CHECK(rows.count(Lane::kLoad) == 1 && rows.count(Lane::kHost) == 1);
                  });

const Test pooled("timing/touched_rows: a pooling store reads what its windows reach", [] {
  // Windows of 2x2, side by side, over 4x4 of an image of 4x6.
  const Command pooling = {kConfig,
                           uint64_t{2} | uint64_t{2} << 4 | uint64_t{2} << 6 | uint64_t{2} << 24 |
                               uint64_t{2} << 32 | uint64_t{2} << 40 | uint64_t{4} << 48 |
                               uint64_t{6} << 56,
                           uint64_t{0x3F800000} << 32 | 64};
  auto rows = rows_of({mvout(kDram, kAcc + 8, 4, 16)}, {config_ld(64), pooling, config_ex()});
  CHECK(are(rows[Lane::kStore].reads[0], kSums + 8, kSums + 8 + 3 * 6 + 4));
});

}  // namespace
}  // namespace npu::gemmini::testing
