// The simulated DRAM: address ranges backed by host memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace npu::sim {

// Regions do not overlap and address 0, which means "write zeros" to a MVIN, is in none.
class MemoryMap {
 public:
  struct Region {
    uint64_t address;
    uint64_t bytes;
    uint8_t* data;
    bool is_writable;
    std::string name;
  };

  // Throws SimError bad_program when the region overlaps another, wraps around or holds
  // address 0. A region of no bytes is accepted and never found.
  void add(Region region);

  // The host memory behind [address, address + bytes), or null where no single region holds it
  // all, or where `for_writing` and the region is read-only. `bytes` is at least 1.
  uint8_t* find(uint64_t address, uint64_t bytes, bool for_writing) const {
    if (last_ < regions_.size()) {  // consecutive rows nearly always fall into the same region
      if (uint8_t* data = within(regions_[last_], address, bytes, for_writing)) return data;
    }
    return find_slowly(address, bytes, for_writing);
  }

  const std::vector<Region>& regions() const { return regions_; }

  // What there is around an address that `find` refused, for a message.
  std::string explain(uint64_t address, uint64_t bytes, bool for_writing) const;

 private:
  static bool holds(const Region& region, uint64_t address, uint64_t bytes) {
    const uint64_t offset = address - region.address;
    return address >= region.address && offset < region.bytes && bytes <= region.bytes - offset;
  }
  static uint8_t* within(const Region& region, uint64_t address, uint64_t bytes, bool for_writing) {
    if (!holds(region, address, bytes) || (for_writing && !region.is_writable)) return nullptr;
    return region.data + (address - region.address);
  }
  uint8_t* find_slowly(uint64_t address, uint64_t bytes, bool for_writing) const;

  std::vector<Region> regions_;
  mutable size_t last_ = 0;
};

// "0x80010000"
std::string hex(uint64_t value);

}  // namespace npu::sim
