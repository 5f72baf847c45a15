// Which words registers hold all through a loop, and what it takes that memory holds the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "sim/host_scope.h"
#include "sim/host_straight.h"

namespace npu::sim {

// A word lives all through the innermost loop in which it stays, but for one that is derived in
// each of its turns: that lives from its first use to its last. Where too many live at once, in a
// loop or in one of its loops beside those that live on, memory holds those with the fewest uses.
class HostRegisters {
 public:
  using Add = std::function<void(uint32_t step, uint32_t instructions)>;
  HostRegisters(std::vector<HostScope>& scopes, size_t registers, Add add);

  // Constants made before the outermost loops, or before sections.
  std::vector<StraightUse> constants;
  // Registers in use at once in any of the loops.
  size_t needed = 0;

 private:
  struct Loop {
    size_t needed = 0;        // registers
    std::vector<int> inside;  // the next loops
  };
  void fit(int index);
  void put_in_memory(int index, HostWords::iterator at);
  void join(const HostScope& condition, int index);
  void pass_out(const HostScope& scope, int index);
  void find_homes();
  int home_of(const KnownValue& value, int index) const;
  void make(const KnownValue& value, int index);

  std::vector<HostScope>& scopes_;
  const size_t registers_;
  const Add add_;
  std::vector<Loop> loops_;  // by scope
  // By outermost loop, the section of constants that only it needs, if there are any.
  std::map<std::pair<int, KnownValue>, int> home_;
  std::vector<int> outermost_;  // by scope
};

}  // namespace npu::sim
