#include "sim/host_straight.h"

#include <cstddef>

namespace npu::sim {

StraightCode::StraightCode(const Program& program)
    : known_(static_cast<size_t>(program.host.host_registers), program) {}

void StraightCode::make(const std::vector<StraightUse>& uses, const Add& add) {
  for (size_t i = 0; i < uses.size(); ++i) {
    const StraightUse& use = uses[i];
    if (use.section != kNoScope && (i == 0 || use.section != uses[i - 1].section)) known_.forget();
    if (use.kind == StraightUse::Kind::kRunning) {
      add(use.step, known_.take(use.value));
      if (use.section == kNoScope) {
        stopped_.push_back({use.value.address, use.value.offset + use.distance});
      }
    } else {
      add(use.step, known_.make(use.value));
    }
    if (i + 1 < uses.size() && uses[i + 1].step == use.step) continue;
    known_.begun();
    for (const KnownValue& value : stopped_) known_.put(value);
    stopped_.clear();
  }
}

}  // namespace npu::sim
