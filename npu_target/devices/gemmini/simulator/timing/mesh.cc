#include "gemmini/simulator/timing/mesh.h"

#include <algorithm>

namespace npu::gemmini::timing {

Mesh::Mesh(const Config& config, ReservationStation& station, PortCalendar& acc_reads,
           PortCalendar& acc_writes)
    : latency_(kArrayReadStages + 2 * config.dim + 1),
      station_(station),
      acc_reads_(acc_reads),
      acc_writes_(acc_writes),
      leaving_(static_cast<size_t>(config.mesh_tag_queue_entries), Leaving{0, -1}),
      last_leaving_(leaving_.size() - 1),
      // The tag of request i - entries leaves with the request after it.
      out_(std::max<int64_t>(1, config.mesh_tag_queue_entries - 1)) {}

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

}  // namespace npu::gemmini::timing
