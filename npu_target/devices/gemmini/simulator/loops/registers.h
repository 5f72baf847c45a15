// What the loop commands leave in the unrollers, and the loops that come of them.
#pragma once

#include <optional>
#include <variant>

#include "gemmini/simulator/config.h"
#include "gemmini/simulator/fault.h"
#include "gemmini/simulator/loops/conv.h"
#include "gemmini/simulator/loops/matmul.h"

namespace npu::gemmini::loops {

using Loop = std::variant<MatmulLoop, ConvLoop>;

// Policy (LoopMatmul.scala, LoopConv.scala): each unroller has two sets of registers, because it
// works on up to two loops at once. Configuration goes to the set of the loop that is started
// next; a set keeps what it was given, for the loop after the next. Loops take the sets, and with
// them the halves of the scratchpad, in turn.
class LoopRegisters {
 public:
  // `config` must outlive this object.
  explicit LoopRegisters(const Config& config) : config_(config) {}

  // Takes a loop command. Returns the loop if it starts one. Throws SimError (see
  // MatmulLoop::decode and ConvLoop::decode) when the device cannot run it.
  std::optional<Loop> take(const RunningCommand& running);

 private:
  const Config& config_;
  MatmulRegisters matmul_[2];
  MatmulPlaces matmul_places_;
  ConvRegisters conv_[2];
  ConvPlaces conv_places_;
};

}  // namespace npu::gemmini::loops
