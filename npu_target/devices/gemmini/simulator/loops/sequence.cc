#include "gemmini/simulator/loops/sequence.h"

namespace npu::gemmini::loops {

LoopSequence::LoopSequence(const Loop& loop, AbsentRows absent_rows)
    : units_(units_of(loop, absent_rows)) {}

std::variant<LoopSequence::Matmul, LoopSequence::Conv> LoopSequence::units_of(
    const Loop& loop, AbsentRows absent_rows) {
  if (const MatmulLoop* matmul = std::get_if<MatmulLoop>(&loop)) {
    return Matmul(MatmulLoadD(*matmul), MatmulLoadA(*matmul), MatmulLoadB(*matmul, absent_rows),
                  MatmulExecute(*matmul), MatmulStore(*matmul));
  }
  const ConvLoop& conv = std::get<ConvLoop>(loop);
  return Conv(ConvLoadBias(conv), ConvLoadWeights(conv), ConvLoadInput(conv), ConvExecute(conv),
              ConvStore(conv));
}

std::optional<Command> LoopSequence::next() {
  std::optional<Command> command;
  const auto first = [&](auto&... units) {
    // The first unit that is not done gives the command.
    (void)((command = units.next(), command.has_value()) || ...);
  };
  std::visit([&](auto& units) { std::apply(first, units); }, units_);
  return command;
}

}  // namespace npu::gemmini::loops
