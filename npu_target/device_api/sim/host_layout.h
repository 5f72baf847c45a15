// Machine code of which all values are known: what registers hold, and where each step lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/host_code.h"
#include "sim/host_scope.h"
#include "sim/host_straight.h"
#include "sim/program.h"

namespace npu::sim {

// Instructions of a function's call, before its first step, and of its return.
struct HostCall {
  uint32_t call;
  uint32_t back;
};
// Of one whose loops need so many registers at once.
HostCall host_call(const Program& program, size_t registers);

// Charges words that find no register and, of a whole program, what straight-line code needs
// outside of all scopes and the call, and gives the steps their places. `scopes` are the code's,
// and changed; `code.straight` has what was found so far.
void lay_out(const Program& program, std::vector<HostScope>& scopes, HostCode::Extent extent,
             HostCode& code);

}  // namespace npu::sim
