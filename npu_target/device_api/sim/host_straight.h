// Words that are made where code runs in a straight line: outside of all loops, and before
// sections.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/host_scope.h"
#include "sim/known_values.h"
#include "sim/program.h"

namespace npu::sim {

// What straight-line code needs outside of all scopes, or before a section.
struct StraightUse {
  enum class Kind : uint8_t { kRunning, kConstant, kOperand };
  uint32_t step;
  Kind kind;
  KnownValue value;
  uint64_t distance = 0;   // that a running register goes from there
  int section = kNoScope;  // that it is made for
};

// Code that makes one word after the other, each from what registers hold by then.
class StraightCode {
 public:
  using Add = std::function<void(uint32_t step, uint32_t instructions)>;
  explicit StraightCode(const Program& program);

  // Charges what comes next, in order: of steps that had none before. Nothing that a section's
  // code leaves in registers is known behind it.
  void make(const std::vector<StraightUse>& uses, const Add& add);

  // All that what comes next depends on: what registers hold.
  const std::vector<KnownValue>& held() const { return known_.held(); }
  void go_on_from(const std::vector<KnownValue>& held) { known_.hold_all(held); }

 private:
  KnownValues known_;
  std::vector<KnownValue> stopped_;
};

}  // namespace npu::sim
