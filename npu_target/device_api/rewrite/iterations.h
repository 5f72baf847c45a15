// What stands beside a loop and is one more iteration of it.
#pragma once

#include <vector>

#include "rewrite/nodes.h"

namespace npu::rewrite {

// Nodes of a body, those that are one more iteration of a loop beside them inside of that loop.
std::vector<const Node*> with_iterations_taken_in(Nodes& nodes, std::vector<const Node*> found);

}  // namespace npu::rewrite
