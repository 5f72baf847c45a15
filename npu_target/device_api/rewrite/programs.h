// Programs of the simulator as nodes, and back.
#pragma once

#include <vector>

#include "rewrite/nodes.h"
#include "sim/program.h"

namespace npu::rewrite {

// The body of a program.
const Body* body_of(Nodes& nodes, const sim::Program& program);

// A program with another body, whose operands have the addresses that it has.
sim::Program with_body(const sim::Program& program, const std::vector<const Node*>& nodes);

}  // namespace npu::rewrite
