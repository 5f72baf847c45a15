// Rows that commands read and the reservation station does not see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gemmini/simulator/races/queue_times.h"
#include "gemmini/simulator/races/race.h"
#include "gemmini/simulator/races/row_times.h"

namespace npu::gemmini::races {

class ExposedRows {
 public:
  struct Read {
    Named reader;
    Span rows;
    Queue queue;
    int32_t time;  // of its queue
  };

  bool is_empty() const { return reads_.empty(); }
  void add(const Read& read, const QueueTimes& times);
  // A read of `rows` that the next command of `queue`, which writes them, does not wait for; null
  // when there is none.
  const Read* unordered_with(Queue queue, const Span& rows, const QueueTimes& times) const;
  void forget() { reads_.clear(); }

 private:
  static constexpr size_t kFew = 64;
  std::vector<Read> reads_;
  size_t most_ = kFew;
};

}  // namespace npu::gemmini::races
