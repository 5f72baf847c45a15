#include "gemmini/simulator/timing/loop_unrollers.h"

#include <algorithm>
#include <variant>

#include "gemmini/simulator/timing/stages.h"

namespace npu::gemmini::timing {

LoopUnrollers::LoopUnrollers(const Config& config, const ReservationStation& station)
    : registers_(config), matmul_(station), conv_(station) {}

Cycle LoopUnrollers::passes(const Command& command, Cycle now) const {
  const LoopTurns& matmul = matmul_.turns();
  const LoopTurns& conv = conv_.turns();
  const bool is_matmul = command.funct >= kLoopWs && command.funct <= kLoopWsConfigLast;
  const bool is_conv = is_loop_command(command.funct) && !is_matmul;
  // One of the two sets of registers has to be free, or both for a stranger.
  const Cycle conv_free = conv.freed(conv.count() - (is_conv ? 2 : 1));
  const Cycle matmul_free = matmul.freed(matmul.count() - (is_matmul ? 2 : 1));
  now = std::max(now, conv_free + kConvUnrollerStages);
  return is_conv ? now : std::max(now, matmul_free + kMatmulUnrollerStages);
}

Queue LoopUnrollers::last_queue(const Command& command) const {
  const bool is_matmul = command.funct >= kLoopWs && command.funct <= kLoopWsConfigLast;
  const bool is_conv = is_loop_command(command.funct) && !is_matmul;
  const int64_t conv = conv_.turns().count() - (is_conv ? 2 : 1);
  const int64_t matmul = matmul_.turns().count() - (is_matmul ? 2 : 1);
  const bool is_last_matmul = !is_conv && matmul_.turns().freed(matmul) > conv_.turns().freed(conv);
  return is_last_matmul ? MatmulUnroller::queue_of(matmul_.turns().last_unit(matmul))
                        : ConvUnroller::queue_of(conv_.turns().last_unit(conv));
}

std::optional<loops::Loop> LoopUnrollers::take(const Command& command, int64_t index, Cycle now) {
  std::optional<loops::Loop> loop = registers_.take({command, index});
  if (!loop) return loop;
  has_taken_ = true;
  if (const loops::MatmulLoop* matmul = std::get_if<loops::MatmulLoop>(&*loop)) {
    matmul_.add(*matmul, now - kMatmulUnrollerStages + 1);
  } else {
    conv_.add(std::get<loops::ConvLoop>(*loop), now - kConvUnrollerStages + 1);
  }
  return loop;
}

// What leaves the unroller of convolutions waits for the other like any command.
Cycle LoopUnrollers::conv_next_step() const {
  const LoopTurns& matmul = matmul_.turns();
  return std::max(conv_.next_step(), matmul.freed(matmul.count() - 1));
}

Cycle LoopUnrollers::next_step() const { return std::min(matmul_.next_step(), conv_next_step()); }

LoopUnrollers::Issue LoopUnrollers::step(Cycle now) {
  if (matmul_.next_step() <= now) {
    const Command command = matmul_.step(now);
    return {command, now + kMatmulUnrollerStages, true, matmul_.issued_loop()};
  }
  const Command command = conv_.step(now);
  return {command, now + kConvUnrollerStages, false, conv_.issued_loop()};
}

}  // namespace npu::gemmini::timing
