// The way to DRAM: one channel for what is read and one for what is written, over one memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "vta/simulator/config.h"

namespace npu::vta {

// Requests have to come in the order of their cycles. Answers come in the order of the requests.
class Bus {
 public:
  explicit Bus(const Config& config) : config_(config) {}

  struct Read {
    int64_t issued;  // when the bus took the request
    int64_t begin;   // of the data
    int64_t end;     // after the last of them
  };

  int64_t beats(int64_t bytes) const { return ((bytes - 1) >> config_.log_bus_bytes) + 1; }

  // A read of at most a burst, asked for in cycle `wanted`. As many as the device has tags for are
  // under way at a time.
  Read read(int64_t wanted, int64_t bytes) {
    int64_t issued = std::max(wanted, next_request_);
    if (reads_under_way_.size() == static_cast<size_t>(config_.bus_reads_in_flight)) {
      issued = std::max(issued, reads_under_way_.front());
      reads_under_way_.pop_front();
    }
    next_request_ = issued + 1;
    const int64_t memory_end = take_memory(issued, bytes) + latency();
    const int64_t begin = std::max(issued + latency(), read_data_free_);
    read_data_free_ = std::max(begin + beats(bytes), memory_end);
    reads_under_way_.push_back(read_data_free_);
    return {issued, begin, read_data_free_};
  }

  // A write of at most a burst whose data are sent from `begin` to before `end`. Returns the cycle
  // of its acknowledgement.
  int64_t write(int64_t begin, int64_t end, int64_t bytes) {
    return std::max(end, take_memory(begin, bytes)) + latency();
  }

 private:
  int64_t latency() const { return config_.memory_latency_cycles; }

  // Takes the memory for `bytes` from `wanted` on. Returns the cycle in which it is done.
  int64_t take_memory(int64_t wanted, int64_t bytes) {
    const int64_t rate = config_.memory_bytes_per_kilocycle;
    const int64_t takes = (bytes * 1'000'000 + rate - 1) / rate;
    memory_free_millicycle_ = std::max(memory_free_millicycle_, wanted * 1000) + takes;
    return (memory_free_millicycle_ + 999) / 1000;
  }

  const Config& config_;
  int64_t next_request_ = 0;
  int64_t read_data_free_ = 0;
  int64_t memory_free_millicycle_ = 0;
  std::deque<int64_t> reads_under_way_;  // their ends
};

}  // namespace npu::vta
