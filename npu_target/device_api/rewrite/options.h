// Which passes are made.
#pragma once

namespace npu::rewrite {

struct Options {
  bool conditions = true;
  bool rolling = true;
  bool splitting = true;
  bool unrolling = true;
  bool hoisting = true;
  bool sums = true;
  bool budget = true;
};

}  // namespace npu::rewrite
