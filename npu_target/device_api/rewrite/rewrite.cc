#include "rewrite/rewrite.h"

#include "rewrite/budget.h"
#include "rewrite/conditions.h"
#include "rewrite/demands.h"
#include "rewrite/nodes.h"
#include "rewrite/parts.h"
#include "rewrite/programs.h"
#include "rewrite/ranges.h"
#include "rewrite/roll.h"

namespace npu::rewrite {

sim::Program rewritten(const sim::Program& program, const CommandSet& commands,
                       const Options& options, const sim::RunControl& control, const Show& show) {
  Nodes nodes;
  Places places(nodes.exprs);
  Decider decider(nodes, places);
  const auto tell = [&](const char* pass, const Body* body) {
    if (show) show(pass, with_body(program, body->nodes));
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
    Demands demands(program, control);
    const auto demand = [&](const Body* made) { return demands.of(made); };
    const double fetch_cycles = static_cast<double>(program.host.host_icache_miss_cycles) /
                                static_cast<double>(program.host.host_icache_line_bytes);
    body = within_budget(body, parts, {demand, fetch_cycles});
    tell("budget", body);
  }
  return with_body(program, body->nodes);
}

}  // namespace npu::rewrite
