#include "gemmini/simulator/recording.h"

#include <utility>

namespace npu::gemmini {
namespace {

using timing::Recorder;
using timing::Slice;

// In the order of Reason.
constexpr const char* kReasonNames[timing::kReasons] = {
    "array_busy", "loads", "stores", "bank_conflict", "dependency", "host_issue", "drain"};

sim::NamedNumbers named(const Recorder::Counts& counts) {
  sim::NamedNumbers numbers;
  for (size_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] != 0) numbers.emplace_back(std::to_string(kind), counts[kind]);
  }
  return numbers;
}

}  // namespace

Recording::Recording(sim::Recording wanted)
    : wanted_(std::move(wanted)),
      recorder_(wanted_.slices ? [this](const Slice& slice) { add(slice); } : timing::SliceSink(),
                wanted_.from, wanted_.to) {}

void Recording::add(const Slice& slice) {
  for (const int64_t word :
       {static_cast<int64_t>(slice.lane), slice.start, slice.end, slice.index,
        int64_t{slice.command.funct}, static_cast<int64_t>(slice.command.rs1),
        static_cast<int64_t>(slice.command.rs2), slice.entered, slice.ready, slice.issued,
        slice.completed, static_cast<int64_t>(slice.waited_for), slice.waited_for_index,
        static_cast<int64_t>(slice.reason), slice.lost}) {
    add(word);
  }
  for (const timing::RowRange& rows :
       {slice.rows.reads[0], slice.rows.reads[1], slice.rows.writes}) {
    const bool is_empty = rows.start >= rows.end;
    add(is_empty ? 0 : rows.start);
    add(is_empty ? 0 : rows.end);
  }
  if (bytes_.size() >= kFlushBytes) flush();
}

void Recording::add(int64_t word) {
  const uint64_t bits = static_cast<uint64_t>(word);
  for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(bits >> shift & 0xFF);
}

void Recording::flush() {
  if (!bytes_.empty()) wanted_.slices(bytes_);
  bytes_.clear();
}

sim::Profile Recording::profile() const {
  sim::NamedNumbers breakdown;
  for (int reason = 0; reason < timing::kReasons; ++reason) {
    breakdown.emplace_back(kReasonNames[reason],
                           recorder_.breakdown()[static_cast<size_t>(reason)]);
  }
  return {{"breakdown", std::move(breakdown)},
          {"issued", named(recorder_.issued())},
          {"unrolled", named(recorder_.unrolled())}};
}

}  // namespace npu::gemmini
