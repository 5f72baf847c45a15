// Errors of the simulator as TVM's FFI carries them.
#pragma once

#include <tvm/ffi/error.h>

#include <utility>

#include "sim/error.h"

namespace npu {

// Calls `fn` and returns what it does. A SimError becomes a RuntimeError whose text starts with
// "NpuDeviceError [kind]".
template <typename Fn>
auto with_ffi_errors(Fn&& fn) {
  try {
    return std::forward<Fn>(fn)();
  } catch (const sim::SimError& error) {
    TVM_FFI_THROW(RuntimeError) << "NpuDeviceError " << error.what();
    TVM_FFI_UNREACHABLE();
  }
}

// Throws if the user has asked to stop (Ctrl-C in Python); for long launches.
void stop_if_interrupted();

}  // namespace npu
