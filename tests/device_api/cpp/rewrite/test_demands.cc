// What bodies ask of the host, counted node by node: what is counted of the whole.
#include <cstdint>
#include <vector>

#include "../host.h"
#include "made.h"
#include "rewrite/demands.h"
#include "rewrite/programs.h"
#include "sim/host_demand.h"

namespace npu::rewrite::testing {
namespace {

const sim::RunControl kControl{uint64_t{1} << 26};

// Loops and conditions in each other, with operands that run, that are far apart, and that have
// general terms. Loops of a depth have the same id, as those have that a pass wrote twice.
class Nests {
 public:
  Nests(Maker& make, uint64_t seed) : make_(make), drawn_(make.nodes.exprs, seed) {}

  const Body* body(uint32_t depth = 1) {
    std::vector<const Node*> nodes;
    for (int64_t i = drawn_.between(1, 5); i > 0; --i) {
      const int64_t kind = depth < 5 ? drawn_.below(4) : 0;
      if (kind == 1) {
        nodes.push_back(make_.nodes.loop(depth, make_.number(drawn_.below(60)), body(depth + 1)));
      } else if (kind == 2 && depth > 2) {
        nodes.push_back(make_.when(
            make_.made(Op::kLt, make_.var(1), make_.number(drawn_.below(60))), body(depth)->nodes));
      } else {
        nodes.push_back(make_.command(2, operand(depth), operand(depth)));
      }
    }
    return make_.body(nodes);
  }

 private:
  const Operand* operand(uint32_t depth) {
    constexpr uint64_t kNear = 100;
    Operand found{static_cast<uint64_t>(drawn_.below(kNear)), Operand::kNoAddress, {}, {}};
    if (drawn_.below(2) == 0) found.base <<= 16;
    found.address = static_cast<int32_t>(drawn_.between(-1, 2));
    for (uint32_t loop_id = 1; loop_id < depth; ++loop_id) {
      const int64_t by = drawn_.below(4) * (drawn_.below(2) == 0 ? 16 : 1 << 14);
      if (by != 0) found.steps.push_back({loop_id, by});
    }
    if (depth > 2 && drawn_.below(4) == 0) {
      const Expr* expr = drawn_.expr(2);
      if (!expr->is_const()) found.general.push_back({drawn_.between(1, 9), expr});
    }
    return make_.nodes.operand(found);
  }

  Maker& make_;
  Drawn drawn_;
};

const Test as_whole("demands: what is counted of the whole, whatever was counted before", [] {
  sim::Program program;
  program.host = sim::testing::host();
  program.arguments.resize(2);
  program.shifted_addresses.push_back({0, 16, 0});
  for (const int64_t registers : {26, 4}) {
    program.host.host_registers = registers;
    Maker make;
    Demands demands(program, kControl);
    for (uint64_t seed = 0; seed < 2000; ++seed) {
      const Body* body = Nests(make, seed).body();
      const sim::HostDemand& found = demands.of(body);
      const sim::HostDemand expected =
          sim::HostDemandCounter(with_body(program, body->nodes), kControl).count();
      CHECK_EQUAL(found.instructions, expected.instructions);
      CHECK_EQUAL(found.commands, expected.commands);
      CHECK_EQUAL(found.loop_bytes, expected.loop_bytes);
      CHECK_EQUAL(found.once_bytes, expected.once_bytes);
    }
  }
});

}  // namespace
}  // namespace npu::rewrite::testing
