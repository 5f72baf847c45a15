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
      out_(static_cast<size_t>(std::max<int64_t>(1, config.mesh_tag_queue_entries - 1)), -1) {
  pending_.reserve(4);
}

Cycle Mesh::earliest_request() const {
  // The request enters kArrayReadStages after its first row is read, the cycle after a tag left.
  return out_[next_out_] + 1 - kArrayReadStages;
}

void Mesh::request(Cycle start, Cycle end, const Tag& tag) {
  out_[next_out_] = end - 1 + latency_;
  next_out_ = next_out_ + 1 == out_.size() ? 0 : next_out_ + 1;
  for (size_t i = 0; i < pending_.size();) {
    if (--pending_[i].requests_left > 0) {
      ++i;
      continue;
    }
    leave(pending_[i].tag, start, end);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (tag.id != ReservationStation::kNone) {
    pending_.push_back({tag, tag.is_weight_stationary ? 1 : 2});
  }
}

void Mesh::leave(const Tag& tag, Cycle start, Cycle end) {
  const Cycle last = end - 1 + latency_;
  last_result_ = std::max(last_result_, last);
  leaving_[next_leaving_] = {tag.address, last};
  next_leaving_ = next_leaving_ + 1 == leaving_.size() ? 0 : next_leaving_ + 1;
  if (tag.accumulates) {
    acc_reads_.take(tag.acc_banks, start + latency_, std::min(end, start + tag.rows) + latency_);
  }
  station_.complete(tag.id, last);
}

Cycle Mesh::result_out(uint32_t address) const {
  for (const Pending& pending : pending_) {
    if (pending.tag.address == address) return kNever;
  }
  Cycle out = -1;
  for (const Leaving& leaving : leaving_) {
    if (leaving.last >= 0 && leaving.address == address) out = std::max(out, leaving.last);
  }
  return out;
}

}  // namespace npu::sim::timing
