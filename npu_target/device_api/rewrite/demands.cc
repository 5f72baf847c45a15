#include "rewrite/demands.h"

#include <algorithm>
#include <utility>

#include "rewrite/programs.h"
#include "sim/demand_sum.h"
#include "sim/host_code.h"
#include "sim/host_layout.h"

namespace npu::rewrite {
namespace {

// What the host sees of it, which is copied for each node.
sim::Program without_device(const sim::Program& program) {
  sim::Program found;
  found.name = program.name;
  found.host = program.host;
  for (const sim::Argument& argument : program.arguments) {
    found.arguments.emplace_back().is_constant = argument.is_constant;
  }
  found.shifted_addresses = program.shifted_addresses;
  return found;
}

uint64_t bytes_of(uint64_t instructions) { return instructions * sim::HostCode::kInstructionBytes; }

}  // namespace

Demands::Demands(const sim::Program& program, const sim::RunControl& control)
    : program_(without_device(program)),
      control_(control),
      straight_(program_),
      at_first_(held_.get({straight_.held()})) {}

const sim::HostDemand& Demands::of(const Body* body) {
  const auto [at, is_new] = known_.try_emplace(body);
  if (!is_new) return at->second;
  sim::HostDemand& all = at->second;
  size_t registers = 0;
  uint64_t outside = 0;  // instructions of code outside of the parts
  const Held* held = at_first_;
  for (const Node* node : body->nodes) {
    Part& one = part(node);
    all.instructions += one.demand.instructions;
    all.commands += one.demand.commands;
    all.loop_bytes += one.demand.loop_bytes;
    all.once_bytes += one.demand.once_bytes;
    registers = std::max(registers, one.registers);
    if (one.straight.empty()) continue;
    const Straight& made = straight(one, held);
    outside += made.instructions;
    held = made.behind;
  }
  const sim::HostCall around = sim::host_call(program_, registers);
  outside += around.call + around.back;
  all.instructions += outside;
  all.once_bytes += bytes_of(outside);
  return all;
}

const Demands::Straight& Demands::straight(Part& part, const Held* before) {
  const auto known = part.known.find(before);
  if (known != part.known.end()) return known->second;
  uint64_t taken = 0;
  straight_.go_on_from(before->values);
  straight_.make(part.straight, [&](uint32_t, uint32_t instructions) { taken += instructions; });
  return part.known.emplace(before, Straight{taken, held_.get({straight_.held()})}).first->second;
}

Demands::Part& Demands::part(const Node* node) {
  const auto known = parts_.find(node);
  if (known != parts_.end()) return known->second;
  return parts_.emplace(node, made(node)).first->second;
}

Demands::Part Demands::made(const Node* node) const {
  const sim::Program alone = with_body(program_, {node});
  sim::HostCode code(alone, sim::HostCode::Extent::kPart);
  return {sim::demand_sum(alone, code, control_), code.registers, std::move(code.straight), {}};
}

}  // namespace npu::rewrite
