// Bytes of DRAM that stores write and loads read, from one fence to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "gemmini/simulator/races/dram_rows.h"
#include "gemmini/simulator/races/load_order.h"
#include "gemmini/simulator/races/race.h"
#include "gemmini/simulator/timing/operation.h"

namespace npu::gemmini::races {

// A few ranges of addresses that hold all bytes added so far, and others.
//
// Policy: what is near a range widens it; far from all, it is a range of its own as long as there
// are few. A kernel's tensors are a range each.
class DramBounds {
 public:
  void add(const DramRows& rows);
  bool may_hold(const DramRows& rows) const {
    const uint64_t begin = rows.begin();
    const uint64_t end = rows.end();
    for (const Range& range : ranges_) {
      if (begin < range.end && range.begin < end) return true;
    }
    return false;
  }
  void forget() { ranges_.clear(); }

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
  };
  std::vector<Range> ranges_;
  size_t last_ = 0;  // the one that was widened last
};

// One MVOUT, or a row of pixels of one that pools.
struct Store {
  Named name;
  DramRows rows;
};

// Policy: stores are kept as they come, and compared with loads by ranges, which tells most of them
// apart. Where a load lies within the stores' ranges, a map says which bytes of lines were stored;
// it is brought up to date only then.
class StoredBytes {
 public:
  void add(const Store& store);
  // A store of bytes that the rows read, null when there is none.
  const Store* writer_of(const DramRows& rows) {
    return bounds_.may_hold(rows) ? find(rows) : nullptr;
  }
  void forget();

 private:
  const Store* find(const DramRows& rows);

  std::vector<Store> stores_;
  size_t stores_in_lines_ = 0;
  std::unordered_map<uint64_t, uint64_t> lines_;  // of each line, a bit for each stored byte
  DramBounds bounds_;
};

// Loads and stores of the same bytes.
//
// Policy: a store completes when it has read its rows; when it is in memory, only a fence knows. A
// load has read its bytes when it completes. Stores write in order.
class MemoryOrder {
 public:
  // Throw SimError race.
  void load(const Load& load);
  void store(const timing::StoreOperation& store, const Named& now, const LoadOrder& loads);
  void forget();

 private:
  void write(const DramRows& rows, const Named& now, const LoadOrder& loads);

  StoredBytes stored_;
  DramBounds loaded_;
};

}  // namespace npu::gemmini::races
