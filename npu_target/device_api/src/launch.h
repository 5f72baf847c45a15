// One call of a compiled kernel on tensors.
#pragma once

#include <tvm/ffi/function.h>

#include <vector>

#include "sim/memory.h"
#include "sim/program.h"

namespace npu {

// Runs `program` on the tensors in `args`, in the order of its arguments, in place: tensors of
// the host and of ext_dev both are the device's memory. Throws an FFI RuntimeError when the
// tensors are not those the program was compiled for, or when the device reports an error.
void launch(const sim::Program& program, tvm::ffi::PackedArgs args);

// The memory of a launch: the tensors, checked as above, at one address each. Throws SimError.
sim::MemoryMap map_arguments(const sim::Program& program, const std::vector<uint64_t>& addresses,
                             tvm::ffi::PackedArgs args);

// Adds the program's own constants, each at its address. The program has to outlive the map.
void add_constants(const sim::Program& program, const std::vector<uint64_t>& addresses,
                   sim::MemoryMap& dram);

}  // namespace npu
