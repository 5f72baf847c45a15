#include "sim/simulator.h"

namespace npu::sim {

void Simulator::record(Recording) {
  throw SimError(ErrorKind::kUnsupportedCommand, -1,
                 "profile: needs a kind of device that records what it does");
}

}  // namespace npu::sim
