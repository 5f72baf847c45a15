#include "gemmini/simulator/races/exposed_rows.h"

#include <algorithm>

namespace npu::gemmini::races {

void ExposedRows::add(const Read& read, const QueueTimes& times) {
  if (reads_.size() >= most_) {
    const auto is_over = [&](const Read& old) {
      return times.waited_for(Queue::kLoad, old.queue) >= old.time &&
             (old.queue == Queue::kExecute ||
              times.waited_for(Queue::kExecute, old.queue) >= old.time);
    };
    reads_.erase(std::remove_if(reads_.begin(), reads_.end(), is_over), reads_.end());
    most_ = std::max(kFew, 2 * reads_.size());
  }
  reads_.push_back(read);
}

const ExposedRows::Read* ExposedRows::unordered_with(Queue queue, const Span& rows,
                                                     const QueueTimes& times) const {
  const auto found = std::find_if(reads_.begin(), reads_.end(), [&](const Read& read) {
    return read.queue != queue && read.rows.overlaps(rows) &&
           read.time > times.waited_for(queue, read.queue);
  });
  return found == reads_.end() ? nullptr : &*found;
}

}  // namespace npu::gemmini::races
