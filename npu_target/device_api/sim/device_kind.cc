#include "sim/device_kind.h"

#include <map>

namespace npu::sim {
namespace {

using Kinds = std::map<std::string, const DeviceKind*, std::less<>>;

Kinds& kinds() {
  static Kinds all;
  return all;
}

}  // namespace

KindRegistration::KindRegistration(const DeviceKind& kind) { kinds()[kind.name()] = &kind; }

const DeviceKind* find_kind(std::string_view name) {
  const auto found = kinds().find(name);
  return found == kinds().end() ? nullptr : found->second;
}

std::string kind_names() {
  std::string names;
  for (const auto& [name, kind] : kinds()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace npu::sim
