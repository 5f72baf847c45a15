#include "sim/memory.h"

#include <cinttypes>
#include <cstdio>

#include "sim/error.h"

namespace npu::sim {
namespace {

std::string describe(const MemoryMap::Region& region) {
  return "'" + region.name + "' at " + hex(region.address) + " to " +
         hex(region.address + region.bytes);
}

}  // namespace

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%" PRIx64, value);
  return text;
}

void MemoryMap::add(Region region) {
  if (region.address == 0 || region.address + region.bytes < region.address) {
    throw SimError(ErrorKind::kBadProgram, -1,
                   "memory map: " + describe(region) + " holds address 0 or wraps around");
  }
  for (const Region& other : regions_) {
    if (region.address < other.address + other.bytes &&
        other.address < region.address + region.bytes) {
      throw SimError(ErrorKind::kBadProgram, -1,
                     "memory map: " + describe(region) + " overlaps " + describe(other));
    }
  }
  regions_.push_back(std::move(region));
}

uint8_t* MemoryMap::find_slowly(uint64_t address, uint64_t bytes, bool for_writing) const {
  for (size_t i = 0; i < regions_.size(); ++i) {
    if (uint8_t* data = within(regions_[i], address, bytes, for_writing)) {
      last_ = i;
      return data;
    }
  }
  return nullptr;
}

std::string MemoryMap::explain(uint64_t address, uint64_t bytes, bool for_writing) const {
  std::string text = "needs " + std::to_string(bytes) + " B of DRAM at " + hex(address) + ", has ";
  for (const Region& region : regions_) {
    if (for_writing && holds(region, address, bytes)) {
      return text + describe(region) + ", which is read-only";
    }
  }
  for (size_t i = 0; i < regions_.size(); ++i) {
    text += (i == 0 ? "" : ", ") + describe(regions_[i]);
  }
  return regions_.empty() ? text + "none" : text;
}

}  // namespace npu::sim
