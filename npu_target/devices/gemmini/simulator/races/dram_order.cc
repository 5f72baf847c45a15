#include "gemmini/simulator/races/dram_order.h"

#include <algorithm>
#include <string>

#include "sim/memory.h"

namespace npu::gemmini::races {
namespace {

constexpr uint64_t kLineBytes = 64;
constexpr size_t kMostRanges = 16;
constexpr uint64_t kNearBytes = 1 << 14;

// Calls `visit` with each line's number and the bits of its bytes that the rows have, while it says
// to go on.
template <typename Visit>
void for_each_line(const DramRows& rows, Visit visit) {
  for (uint64_t i = 0; i < rows.rows; ++i) {
    uint64_t address = rows.row(i);
    uint64_t left = rows.row_bytes;
    while (left != 0) {
      const uint64_t offset = address % kLineBytes;
      const uint64_t count = std::min(left, kLineBytes - offset);
      const uint64_t mask = (count == kLineBytes ? ~uint64_t{0} : (uint64_t{1} << count) - 1)
                            << offset;
      if (!visit(address / kLineBytes, mask)) return;
      address += count;
      left -= count;
    }
  }
}

std::string text(const DramRows& rows) {
  return sim::hex(rows.address) + " (" + std::to_string(rows.rows) + " rows of " +
         std::to_string(rows.row_bytes) + " B, " + std::to_string(rows.stride_bytes) + " B apart)";
}

}  // namespace

void DramBounds::add(const DramRows& rows) {
  const uint64_t begin = rows.begin();
  const uint64_t end = rows.end();
  const auto is_near = [&](const Range& range) {
    return begin <= range.end + std::min(kNearBytes, UINT64_MAX - range.end) &&
           range.begin <= end + std::min(kNearBytes, UINT64_MAX - end);
  };
  if (last_ >= ranges_.size() || !is_near(ranges_[last_])) {
    const auto found = std::find_if(ranges_.begin(), ranges_.end(), is_near);
    last_ = static_cast<size_t>(found - ranges_.begin());
    if (found == ranges_.end()) {
      if (ranges_.size() < kMostRanges) {
        ranges_.push_back({begin, end});
        return;
      }
      last_ = 0;
    }
  }
  Range& range = ranges_[last_];
  range.begin = std::min(range.begin, begin);
  range.end = std::max(range.end, end);
}

void StoredBytes::add(const Store& store) {
  if (store.rows.is_empty()) return;
  bounds_.add(store.rows);
  stores_.push_back(store);
}

const Store* StoredBytes::find(const DramRows& rows) {
  for (; stores_in_lines_ < stores_.size(); ++stores_in_lines_) {
    for_each_line(stores_[stores_in_lines_].rows, [&](uint64_t number, uint64_t mask) {
      lines_[number] |= mask;
      return true;
    });
  }
  bool is_stored = false;
  for_each_line(rows, [&](uint64_t number, uint64_t mask) {
    const auto line = lines_.find(number);
    is_stored = line != lines_.end() && (line->second & mask) != 0;
    return !is_stored;
  });
  if (!is_stored) return nullptr;
  const auto last = std::find_if(stores_.rbegin(), stores_.rend(),
                                 [&](const Store& store) { return store.rows.overlaps(rows); });
  return &*last;
}

void StoredBytes::forget() { *this = {}; }

void MemoryOrder::load(const Load& load) {
  if (load.source.is_empty()) return;
  if (const Store* store = stored_.writer_of(load.source)) {
    fail(load.name, store->name,
         "it reads DRAM from " + text(load.source) + ", and that one writes it from " +
             text(store->rows) + "; only a fence waits until a store is in memory");
  }
  loaded_.add(load.source);
}

void MemoryOrder::store(const timing::StoreOperation& store, const Named& now,
                        const LoadOrder& loads) {
  if (store.pool_stride == 0) {
    write({store.dram_address, store.stride_bytes, static_cast<uint64_t>(store.rows),
           static_cast<uint64_t>(store.cols * store.element_bytes)},
          now, loads);
    return;
  }
  const uint64_t row_bytes = static_cast<uint64_t>(store.pool_dram_row_pixels) * store.stride_bytes;
  for (uint64_t row = 0; row < static_cast<uint64_t>(store.pool_out_rows); ++row) {
    write({store.dram_address + row * row_bytes, store.stride_bytes,
           static_cast<uint64_t>(store.pool_out_cols), static_cast<uint64_t>(store.cols)},
          now, loads);
  }
}

void MemoryOrder::write(const DramRows& rows, const Named& now, const LoadOrder& loads) {
  if (rows.is_empty()) return;
  if (loaded_.may_hold(rows)) {
    if (const Load* load = loads.unknown_reader(Queue::kStore, rows)) {
      fail(now, load->name,
           "it writes DRAM from " + text(rows) + ", and that one, maybe later, reads it from " +
               text(load->source));
    }
  }
  stored_.add({now, rows});
}

void MemoryOrder::forget() {
  stored_.forget();
  loaded_.forget();
}

}  // namespace npu::gemmini::races
