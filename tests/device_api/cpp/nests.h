// Random bodies of programs.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "code_maker.h"

namespace npu::sim::testing {

// Loops in loops, of extents that are numbers, variables of loops around, or conditions of them.
class Nests {
 public:
  Nests(Maker& maker, uint32_t seed) : maker_(maker), random_(seed) {}

  std::vector<Node> body(uint32_t depth) {
    std::vector<Node> nodes;
    for (uint32_t i = draw(4); i > 0; --i) {
      if (depth < 5 && draw(2) == 0) {
        nodes.push_back(Maker::loop_of(depth, extent(depth), body(depth + 1)));
      } else {
        for (uint32_t k = draw(30); k > 0; --k) nodes.push_back(use(depth));
      }
    }
    return nodes;
  }

 private:
  uint32_t draw(uint32_t values) { return static_cast<uint32_t>(random_() % values); }

  uint32_t extent(uint32_t depth) {
    const uint32_t number = maker_.number(draw(6));
    if (depth == 0) return number;
    const uint32_t variable = draw(depth);  // its expression has the same number
    switch (draw(4)) {
      case 0:
        return variable;
      case 1:
        return maker_.apply(Op::kLt, variable, number);
      default:
        return number;
    }
  }

  Node use(uint32_t depth) {
    std::vector<Operand::Step> steps;
    for (uint32_t slot = 0; slot < depth; ++slot) {
      if (draw(2) == 0) steps.push_back({slot, draw(3) * uint64_t{4096}});
    }
    return command(word(draw(100), steps), word(0, {}, static_cast<int32_t>(draw(2))));
  }

  Maker& maker_;
  std::mt19937 random_;
};

}  // namespace npu::sim::testing
