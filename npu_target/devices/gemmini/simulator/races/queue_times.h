// How far each queue of the reservation station has come, and what it knows of the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gemmini/simulator/timing/operation.h"

namespace npu::gemmini::races {

using timing::kQueues;
using timing::Queue;

// Of each queue, when its latest command was issued: in commands; for the array, in commands that
// knew of more loads than the one before, as long as no finer order is asked for. Times begin at 1.
class QueueTimes {
 public:
  int32_t now(Queue queue) const { return now_[index_of(queue)]; }
  void set(Queue queue, int32_t time) { now_[index_of(queue)] = time; }

  // Of the commands of `other`, the latest that one of `queue` waited for.
  int32_t waited_for(Queue queue, Queue other) const {
    return waited_for_[index_of(queue)][index_of(other)];
  }
  // The command that `queue` issues next waits for one of `other`, later than those before.
  void wait_for(Queue queue, Queue other, int32_t time) {
    waited_for_[index_of(queue)][index_of(other)] = time;
  }

  // All commands so far have completed, and every queue knows that.
  void complete() {
    for (auto& times : waited_for_) std::copy_n(now_, kQueues, times);
  }
  void forget() { *this = {}; }

 private:
  static constexpr size_t index_of(Queue queue) { return static_cast<size_t>(queue); }

  int32_t now_[kQueues] = {};
  int32_t waited_for_[kQueues][kQueues] = {};
};

}  // namespace npu::gemmini::races
