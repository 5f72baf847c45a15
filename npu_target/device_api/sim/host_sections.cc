#include "sim/host_sections.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace npu::sim {
namespace {

constexpr uint64_t kManyCommands = 128;

}  // namespace

void find_sections(std::vector<HostScope>& scopes) {
  // A scope comes behind those around it.
  std::vector<uint64_t> commands(scopes.size());
  std::vector<uint32_t> loops(scopes.size());  // directly inside, of conditions too
  for (size_t i = scopes.size(); i-- > 0;) {
    const HostScope& scope = scopes[i];
    commands[i] += scope.commands;
    if (scope.is_fixed()) commands[i] *= scope.extent;
    if (scope.parent == kNoScope) continue;
    const auto outside = static_cast<size_t>(scope.parent);
    commands[outside] += commands[i];
    loops[outside] += scope.is_loop ? 1 : loops[i];
  }
  for (size_t i = 0; i < scopes.size(); ++i) {
    HostScope& scope = scopes[i];
    int around = scope.parent;  // the loop
    while (around != kNoScope && !scopes[static_cast<size_t>(around)].is_loop) {
      around = scopes[static_cast<size_t>(around)].parent;
    }
    if (around == kNoScope) continue;
    const auto outside = static_cast<size_t>(around);
    const bool is_section = scope.is_loop && loops[outside] > 1 && commands[i] >= kManyCommands;
    scope.section =
        is_section ? static_cast<int>(i) : scopes[static_cast<size_t>(scope.parent)].section;
  }
}

int common_section(const std::vector<HostScope>& scopes, int a, int b) {
  while (a != b) {  // the inner one of a path has the higher number
    int& inner = std::max(a, b) == a ? a : b;
    inner = scopes[static_cast<size_t>(scopes[static_cast<size_t>(inner)].parent)].section;
  }
  return a;
}

}  // namespace npu::sim
