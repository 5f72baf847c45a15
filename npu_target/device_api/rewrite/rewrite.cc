#include "rewrite/rewrite.h"

#include <unordered_map>

#include "rewrite/budget.h"
#include "rewrite/conditions.h"
#include "rewrite/nodes.h"
#include "rewrite/parts.h"
#include "rewrite/programs.h"
#include "rewrite/ranges.h"
#include "rewrite/roll.h"
#include "sim/host_demand.h"

namespace npu::rewrite {
namespace {

// What a program's host sees of it, which is copied for each body that is tried.
sim::Program without_device(const sim::Program& program) {
  sim::Program found;
  found.name = program.name;
  found.host = program.host;
  found.arguments = program.arguments;
  for (sim::Argument& argument : found.arguments) argument.data.clear();
  found.shifted_addresses = program.shifted_addresses;
  return found;
}

}  // namespace

sim::Program rewritten(const sim::Program& program, const CommandSet& commands,
                       const Options& options, const sim::RunControl& control, const Show& show) {
  Nodes nodes;
  Places places(nodes.exprs);
  Decider decider(nodes, places);
  const auto tell = [&](const char* pass, const Body* body) {
    if (show) show(pass, with_body(program, body));
  };
  const Body* body = body_of(nodes, program);
  if (options.conditions) {
    body = decider.decided(body);
    tell("conditions", body);
  }
  if (options.rolling) {
    body = rolled(nodes, commands, body);
    tell("rolling", body);
  }
  Parts parts(nodes, places, decider, commands, options, body);
  if (options.splitting) tell("splitting", parts.after_splitting());
  if (options.unrolling) tell("unrolling", parts.after_unrolling());
  if (options.hoisting) tell("hoisting", parts.after_hoisting());
  body = parts.changed({});
  if (options.sums) tell("sums", body);
  if (options.budget) {
    std::unordered_map<const Body*, sim::HostDemand> known;
    const sim::Program bare = without_device(program);
    const auto demand = [&](const Body* made) {
      const auto found = known.find(made);
      if (found != known.end()) return found->second;
      return known[made] = sim::HostDemandCounter(with_body(bare, made), control).count();
    };
    const double fetch_cycles = static_cast<double>(program.host.host_icache_miss_cycles) /
                                static_cast<double>(program.host.host_icache_line_bytes);
    body = within_budget(body, parts, {demand, fetch_cycles});
    tell("budget", body);
  }
  return with_body(program, body);
}

}  // namespace npu::rewrite
