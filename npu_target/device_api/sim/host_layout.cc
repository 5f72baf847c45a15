#include "sim/host_layout.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "sim/host_registers.h"
#include "sim/known_values.h"

namespace npu::sim {
namespace {

// Of the RISC-V calling convention: registers that a function may change (a0 to a7, t0 to t6), and
// those that it has to leave as they were (s0 to s11).
constexpr size_t kFreeRegisters = 15;
constexpr size_t kKeptRegisters = 12;

// A function is called with the addresses of its tensors. What it needs of the registers that it
// has to keep is stored first, and loaded before it returns; the stack moves for that.
void call(const Program& program, size_t needed, HostCode& code) {
  const size_t kept = std::min(needed - std::min(needed, kFreeRegisters), kKeptRegisters);
  const size_t frame = kept > 0 ? kept + 1 : 0;
  code.call = static_cast<uint32_t>(2 * program.tensors() + 1 + frame);
  code.back = static_cast<uint32_t>(frame + 1);
}

void make_straight_values(const Program& program, std::vector<StraightUse>& uses, HostCode& code) {
  std::stable_sort(uses.begin(), uses.end(), [](const StraightUse& a, const StraightUse& b) {
    return std::make_tuple(a.section, a.step, a.kind) < std::make_tuple(b.section, b.step, b.kind);
  });
  KnownValues known(static_cast<size_t>(program.host.host_registers), program);
  std::vector<KnownValue> stopped;
  for (size_t i = 0; i < uses.size(); ++i) {
    const StraightUse& use = uses[i];
    if (use.section != kNoScope && (i == 0 || use.section != uses[i - 1].section)) known.forget();
    if (use.kind == StraightUse::Kind::kRunning) {
      code.steps[use.step].instructions += known.take(use.value);
      if (use.section == kNoScope) {
        stopped.push_back({use.value.address, use.value.offset + use.distance});
      }
    } else {
      code.steps[use.step].instructions += known.make(use.value);
    }
    if (i + 1 < uses.size() && uses[i + 1].step == use.step) continue;
    known.begun();
    for (const KnownValue& value : stopped) known.put(value);
    stopped.clear();
  }
}

void place_steps(HostCode& code) {
  uint64_t place = code.call;
  code.once_bytes = uint64_t{code.call + code.back} * HostCode::kInstructionBytes;
  for (HostStep& step : code.steps) {
    step.first = static_cast<uint32_t>(place);
    place += step.instructions;
    (step.is_in_loop ? code.loop_bytes : code.once_bytes) +=
        uint64_t{step.instructions} * HostCode::kInstructionBytes;
  }
}

}  // namespace

void lay_out(const Program& program, std::vector<HostScope>& scopes,
             std::vector<StraightUse>& straight, HostCode& code) {
  const HostRegisters registers(scopes, static_cast<size_t>(program.host.host_registers),
                                [&code](uint32_t step, uint32_t instructions) {
                                  code.steps[step].instructions += instructions;
                                });
  straight.insert(straight.end(), registers.constants.begin(), registers.constants.end());
  call(program, registers.needed, code);
  make_straight_values(program, straight, code);
  place_steps(code);
}

}  // namespace npu::sim
