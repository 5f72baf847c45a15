// Programs of the simulator as nodes, and back.
#pragma once

#include "rewrite/nodes.h"
#include "sim/program.h"

namespace npu::rewrite {

// The body of a program.
const Body* body_of(Nodes& nodes, const sim::Program& program);

// A program with another body, whose operands have the addresses that it has.
sim::Program with_body(const sim::Program& program, const Body* body);

}  // namespace npu::rewrite
