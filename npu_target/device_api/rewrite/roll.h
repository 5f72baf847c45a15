// Parts of a program that repeat themselves, made loops.
//
// Neighbours that are alike but for the numbers that they begin with become one loop; what stands
// beside a loop and is what its body would be in one more iteration goes into it. Less code is
// fetched, and more of it fits the host's instruction cache.
#pragma once

#include "rewrite/command_set.h"
#include "rewrite/nodes.h"

namespace npu::rewrite {

// The same commands, with loops for what repeats itself.
const Body* rolled(Nodes& nodes, const CommandSet& commands, const Body* body);

}  // namespace npu::rewrite
