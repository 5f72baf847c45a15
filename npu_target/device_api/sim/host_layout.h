// Machine code of which all values are known: what registers hold, and where each step lies.
#pragma once

#include <vector>

#include "sim/host_code.h"
#include "sim/host_scope.h"
#include "sim/host_values.h"
#include "sim/program.h"

namespace npu::sim {

// Charges words that find no register, what straight-line code needs outside of all scopes and the
// call, and gives the steps their places. `scopes` and `straight` are the code's, and changed.
void lay_out(const Program& program, std::vector<HostScope>& scopes,
             std::vector<StraightUse>& straight, HostCode& code);

}  // namespace npu::sim
