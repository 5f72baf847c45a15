#include "rewrite/demands.h"

#include <algorithm>
#include <utility>

#include "rewrite/programs.h"
#include "sim/host_code.h"
#include "sim/host_layout.h"

namespace npu::rewrite {
namespace {

// What the host sees of it, which is copied for each node.
sim::Program without_device(const sim::Program& program) {
  sim::Program found;
  found.name = program.name;
  found.host = program.host;
  found.arguments = program.arguments;
  for (sim::Argument& argument : found.arguments) argument.data.clear();
  found.shifted_addresses = program.shifted_addresses;
  return found;
}

uint64_t bytes_of(uint64_t instructions) { return instructions * sim::HostCode::kInstructionBytes; }

}  // namespace

Demands::Demands(const sim::Program& program, const sim::RunControl& control)
    : program_(without_device(program)), control_(control) {}

const sim::HostDemand& Demands::of(const Body* body) {
  const auto [at, is_new] = known_.try_emplace(body);
  if (!is_new) return at->second;
  sim::HostDemand& all = at->second;
  size_t registers = 0;
  uint64_t outside = 0;  // instructions of code outside of the parts
  sim::StraightCode straight(program_);
  for (const Node* node : body->nodes) {
    const Part& one = part(node);
    all.instructions += one.demand.instructions;
    all.commands += one.demand.commands;
    all.loop_bytes += one.demand.loop_bytes;
    all.once_bytes += one.demand.once_bytes;
    registers = std::max(registers, one.registers);
    straight.make(one.straight, [&](uint32_t, uint32_t instructions) { outside += instructions; });
  }
  const sim::HostCall around = sim::host_call(program_, registers);
  outside += around.call + around.back;
  all.instructions += outside;
  all.once_bytes += bytes_of(outside);
  return all;
}

const Demands::Part& Demands::part(const Node* node) {
  const auto known = parts_.find(node);
  if (known != parts_.end()) return known->second;
  return parts_.emplace(node, made(node)).first->second;
}

Demands::Part Demands::made(const Node* node) const {
  const sim::Program alone = with_body(program_, {node});
  const sim::HostDemand demand = sim::HostDemandCounter(alone, control_).count();
  const sim::HostCode& code = alone.host_code();
  const uint64_t outside = code.call + code.back + code.straight_instructions;
  return {{demand.instructions - outside, demand.commands, demand.loop_bytes,
           demand.once_bytes - bytes_of(outside)},
          code.registers,
          code.straight};
}

}  // namespace npu::rewrite
