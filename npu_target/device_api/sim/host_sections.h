// Which loops of a nest have what only their code needs made before them, not before the nest.
#pragma once

#include <vector>

#include "sim/host_scope.h"

namespace npu::sim {

// Finds the section of each scope. One is a loop that issues many commands each time, so that a few
// more instructions before it are none to speak of, and that is not all that the loop around it
// has: of registers there are not enough for the words of all, and what is made for all before
// the first of them begins keeps the device waiting.
void find_sections(std::vector<HostScope>& scopes);

// The innermost section around two, which may be themselves.
int common_section(const std::vector<HostScope>& scopes, int a, int b);

}  // namespace npu::sim
