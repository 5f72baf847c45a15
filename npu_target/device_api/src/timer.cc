// runtime.timer.ext_dev: time_evaluator on this device measures simulated time.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/timer.h>

#include <cmath>

#include "src/session.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;
using tvm::runtime::TimerNode;

class SimulatedTimerNode final : public TimerNode {
 public:
  void Start() final { start_ns_ = simulated_clock_ns(); }
  void Stop() final { elapsed_ns_ = simulated_clock_ns() - start_ns_; }
  int64_t SyncAndGetElapsedNanos() final { return std::llround(elapsed_ns_); }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("npu.runtime.SimulatedTimerNode", SimulatedTimerNode,
                                    TimerNode);

 private:
  double start_ns_ = 0;
  double elapsed_ns_ = 0;
};

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("runtime.timer.ext_dev", [](tvm::Device) {
    return tvm::runtime::Timer(ffi::make_object<SimulatedTimerNode>());
  });
}

}  // namespace npu
