#include "mesh.h"

#include <algorithm>

#include "stages.h"

namespace npu::sim::timing {

Mesh::Mesh(const Config& config, ReservationStation& station, PortCalendar& acc_reads)
    : latency_(kArrayReadStages + 2 * config.dim + 1),
      station_(station),
      acc_reads_(acc_reads),
      leaving_(static_cast<size_t>(config.mesh_tag_queue_entries), Leaving{0, -1}),
      // The tag of request i - entries leaves with the request after it.
      out_(static_cast<size_t>(std::max<int64_t>(1, config.mesh_tag_queue_entries - 1)), -1) {}

Cycle Mesh::earliest_request() const {
  // The request enters kArrayReadStages after its first row is read, the cycle after a tag left.
  return out_[next_out_] + 1 - kArrayReadStages;
}

void Mesh::request(Cycle start, Cycle end, ReservationStation::Id preload) {
  out_[next_out_] = end - 1 + latency_;
  next_out_ = next_out_ + 1 == out_.size() ? 0 : next_out_ + 1;
  size_t kept = 0;
  for (size_t i = 0; i < pending_count_; ++i) {
    if (--pending_[i].requests_left == 0) {
      leave(pending_[i].preload, start, end);
    } else {
      pending_[kept++] = pending_[i];
    }
  }
  pending_count_ = kept;
  if (preload == ReservationStation::kNone) return;
  const ExecuteOperation& operation = station_.operation(preload).execute;
  pending_[pending_count_++] = {preload, operation.second.address,
                                operation.mode.is_weight_stationary ? 1 : 2};
  if (operation.acc_banks == 0) last_spad_result_ = kNever;
}

void Mesh::leave(ReservationStation::Id preload, Cycle start, Cycle end) {
  const ExecuteOperation& operation = station_.operation(preload).execute;
  last_result_ = std::max(last_result_, end - 1 + latency_);
  leaving_[next_leaving_] = {operation.second.address, end - 1 + latency_};
  next_leaving_ = next_leaving_ + 1 == leaving_.size() ? 0 : next_leaving_ + 1;
  if (operation.acc_banks == 0) last_spad_result_ = end - 1 + latency_;
  if (operation.accumulates) {
    acc_reads_.take(operation.acc_banks, start + latency_,
                    std::min<Cycle>(end, start + operation.second.rows) + latency_);
  }
  station_.complete(preload, end - 1 + latency_);
}

Cycle Mesh::result_of(uint32_t address) const {
  for (size_t i = 0; i < pending_count_; ++i) {
    if (pending_[i].address == address) return kNever;
  }
  Cycle out = -1;
  for (const Leaving& leaving : leaving_) {
    if (leaving.last >= 0 && leaving.address == address) out = std::max(out, leaving.last);
  }
  return out;
}

}  // namespace npu::sim::timing
