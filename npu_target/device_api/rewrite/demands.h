// What bodies ask of the host that runs them, by the model that the simulator charges it by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rewrite/interner.h"
#include "rewrite/nodes.h"
#include "sim/host_demand.h"
#include "sim/host_straight.h"
#include "sim/known_values.h"
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
  // What registers hold where straight-line code goes on.
  struct Held {
    std::vector<sim::KnownValue> values;

    uint64_t hash() const {
      uint64_t hash = values.size();
      for (const sim::KnownValue& value : values) {
        hash = mixed(mixed(hash, static_cast<uint64_t>(value.address)), value.offset);
      }
      return hash;
    }
    bool operator==(const Held& other) const { return values == other.values; }
  };
  // Words made outside of loops, and what registers hold behind them.
  struct Straight {
    uint64_t instructions;
    const Held* behind;
  };
  struct Part {
    sim::HostDemand demand;  // without a call, and without words made outside of its loops
    size_t registers;        // that its loops need at once
    std::vector<sim::StraightUse> straight;
    // By what registers hold before it: bodies with another part before soon have the same there.
    std::unordered_map<const Held*, Straight> known;
  };
  Part& part(const Node* node);
  Part made(const Node* node) const;
  const Straight& straight(Part& part, const Held* before);

  const sim::Program program_;
  const sim::RunControl& control_;
  sim::StraightCode straight_;
  Interner<Held> held_;
  const Held* const at_first_;
  std::unordered_map<const Node*, Part> parts_;
  std::unordered_map<const Body*, sim::HostDemand> known_;
};

}  // namespace npu::rewrite
