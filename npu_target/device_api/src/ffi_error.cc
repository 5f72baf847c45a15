#include "src/ffi_error.h"

#include <tvm/ffi/extra/c_env_api.h>

namespace npu {

void stop_if_interrupted() {
  if (TVMFFIEnvCheckSignals() != 0) throw tvm::ffi::EnvErrorAlreadySet();
}

}  // namespace npu
