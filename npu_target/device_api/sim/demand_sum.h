// What a program asks of the host core, but for how long its code takes to come.
#pragma once

#include "sim/host_code.h"
#include "sim/host_demand.h"
#include "sim/program.h"
#include "sim/program_run.h"

namespace npu::sim {

// As HostDemandCounter counts it, of code that may be that of a part. Of loops' iterations only the
// conditions are gone through that their variable decides: everything else is multiplied. Throws
// LimitError where a run would, beyond the control's steps.
HostDemand demand_sum(const Program& program, const HostCode& code, const RunControl& control);

}  // namespace npu::sim
