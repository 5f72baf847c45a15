#include "sim/host_layout.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/host_registers.h"
#include "sim/host_straight.h"

namespace npu::sim {
namespace {

// Of the RISC-V calling convention: registers that a function may change (a0 to a7, t0 to t6), and
// those that it has to leave as they were (s0 to s11).
constexpr size_t kFreeRegisters = 15;
constexpr size_t kKeptRegisters = 12;

// Sorts what straight-line code needs. Returns what of it is needed before sections: what is needed
// outside of all scopes stays in `code.straight`.
std::vector<StraightUse> sorted_out(HostCode& code) {
  std::stable_sort(code.straight.begin(), code.straight.end(),
                   [](const StraightUse& a, const StraightUse& b) {
                     return std::make_tuple(a.section, a.step, a.kind) <
                            std::make_tuple(b.section, b.step, b.kind);
                   });
  const auto outside_end =
      std::find_if(code.straight.begin(), code.straight.end(),
                   [](const StraightUse& use) { return use.section != kNoScope; });
  std::vector<StraightUse> before_sections(outside_end, code.straight.end());
  code.straight.erase(outside_end, code.straight.end());
  return before_sections;
}

void make_straight_values(const Program& program, HostCode::Extent extent, HostCode& code) {
  const std::vector<StraightUse> before_sections = sorted_out(code);
  const bool is_whole = extent == HostCode::Extent::kWhole;
  if (!is_whole && before_sections.empty()) return;
  StraightCode straight(program);
  const auto add = [&code](uint32_t step, uint32_t instructions) {
    code.steps[step].instructions += instructions;
  };
  if (is_whole) straight.make(code.straight, add);
  straight.make(before_sections, add);
}

void place_steps(HostCode& code) {
  uint64_t place = code.call * HostCode::kInstructionBytes;
  code.once_bytes = place + code.back * HostCode::kInstructionBytes;
  for (HostStep& step : code.steps) {
    step.first_byte = place;
    place += step.bytes();
    (step.is_in_loop ? code.loop_bytes : code.once_bytes) += step.bytes();
  }
}

}  // namespace

// A function is called with the addresses of its tensors. What it needs of the registers that it
// has to keep is stored first, and loaded before it returns; the stack moves for that.
HostCall host_call(const Program& program, size_t registers) {
  const size_t kept = std::min(registers - std::min(registers, kFreeRegisters), kKeptRegisters);
  const size_t frame = kept > 0 ? kept + 1 : 0;
  return {static_cast<uint32_t>(2 * program.tensors() + 1 + frame),
          static_cast<uint32_t>(frame + 1)};
}

void lay_out(const Program& program, std::vector<HostScope>& scopes, HostCode::Extent extent,
             HostCode& code) {
  const HostRegisters registers(scopes, static_cast<size_t>(program.host.host_registers),
                                [&code](uint32_t step, uint32_t instructions) {
                                  code.steps[step].instructions += instructions;
                                });
  code.straight.insert(code.straight.end(), registers.constants.begin(), registers.constants.end());
  code.registers = registers.needed;
  if (extent == HostCode::Extent::kWhole) {
    const HostCall around = host_call(program, code.registers);
    code.call = around.call;
    code.back = around.back;
  }
  make_straight_values(program, extent, code);
  place_steps(code);
}

}  // namespace npu::sim
