// What bodies ask of the host that runs them, by the model that the simulator charges it by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rewrite/nodes.h"
#include "sim/host_demand.h"
#include "sim/host_straight.h"
#include "sim/program.h"
#include "sim/program_run.h"

namespace npu::rewrite {

// Counts what sim::HostDemandCounter does, but each node of a body by itself and once: of bodies
// that are tried one after the other most have most nodes in common. Nothing but words that are
// made outside of loops depends on the nodes before. (Where tables of words lie does, too, which
// is not looked at.)
class Demands {
 public:
  // Of bodies that this program could have; its own is not looked at.
  Demands(const sim::Program& program, const sim::RunControl& control);

  // Throws LimitError where a node of it has more iterations than the control's steps.
  const sim::HostDemand& of(const Body* body);

 private:
  struct Part {
    sim::HostDemand demand;  // without a call, and without words made outside of its loops
    size_t registers;        // that its loops need at once
    std::vector<sim::StraightUse> straight;
  };
  const Part& part(const Node* node);
  Part made(const Node* node) const;

  const sim::Program program_;
  const sim::RunControl& control_;
  std::unordered_map<const Node*, Part> parts_;
  std::unordered_map<const Body*, sim::HostDemand> known_;
};

}  // namespace npu::rewrite
