// Refuses commands whose result depends on which of two engines is faster.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "vta/simulator/buffers.h"
#include "vta/simulator/command.h"
#include "vta/simulator/config.h"
#include "vta/simulator/functional.h"
#include "vta/simulator/tokens.h"

namespace npu::vta {

// The rows of a buffer that one engine writes and another reads: how many commands of each are over
// when the last one that touched a row is.
class SharedRows {
 public:
  SharedRows(Engine one, Engine other, int64_t rows) : engines_{one, other} {
    for (auto& over : over_) over.resize(rows);
  }

  // Throws SimError race. Rows that the buffer does not have are left to the functional part.
  void touch(const RunningCommand& running, int64_t row) {
    const bool is_other = engine_of(running.issued.command) == engines_[1];
    if (row >= static_cast<int64_t>(over_[0].size())) return;
    const Engine against = engines_[!is_other];
    if (over_[!is_other][row] > running.before[against]) {
      running.need_over(against, over_[!is_other][row], "touches row " + std::to_string(row));
    }
    over_[is_other][row] = running.number + 1;
  }

 private:
  Engine engines_[2];
  std::vector<int64_t> over_[2];
};

class RaceChecker {
 public:
  // Both have to outlive this object.
  RaceChecker(const Config& config, Buffers& buffers);

  // To be called before the command changes the buffers. Throws SimError race naming it when a
  // command of another engine that may not be over, or a step that is still in the ALU's pipeline,
  // touches what it does.
  void run(const RunningCommand& running);

 private:
  // What a command did to DRAM, for another engine that may not know that it is over.
  struct DramUse {
    DramLines lines;
    int64_t over;
  };

  void transfer(const RunningCommand& running);
  void compute(const RunningCommand& running);
  void check_pipeline(const IssuedCommand& issued, const Step& step);

  const Config& config_;
  Buffers& buffers_;
  SharedRows inp_;
  SharedRows wgt_;
  SharedRows out_;
  // Of load and of compute what store may not know of; of store what each of them may not.
  std::deque<DramUse> reads_[2];
  std::deque<DramUse> writes_[2];
  std::deque<int64_t> in_pipeline_;  // rows that the ALU's last steps write
};

}  // namespace npu::vta
