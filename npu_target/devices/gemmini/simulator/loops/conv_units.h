// The execute and the store unit of the LOOP_CONV_WS unroller.
#pragma once

#include <cstdint>
#include <optional>

#include "gemmini/simulator/command.h"
#include "gemmini/simulator/loops/conv.h"

namespace npu::gemmini::loops {

// Policy (LoopConvExecute): a PRELOAD and a COMPUTE per up to `dim` pixels of one output row,
// `dim` output channels, and one kernel position with `dim` input channels (or several positions,
// where a row holds several pixels); always adding to the accumulator. Order: columns inner, rows,
// batches, input channels, kernel columns, kernel rows, output channels outer. New weights are
// preloaded for the first pixels of a kernel position. With a transposed input the batches are the
// rows of A, and the loop sets CONFIG_EX's strides first. Where the input is dilated, output pixels
// that would meet a zero are passed over one by one, which costs time but no command.
class ConvExecute {
 public:
  explicit ConvExecute(const ConvLoop& loop);
  bool is_done() const { return is_done_; }
  std::optional<Command> next();
  // Output pixels passed over since the command before, on the way to the next one or the end.
  int64_t passed_over() const { return passed_over_; }

 private:
  Command config() const;
  Command preload() const;
  Command compute() const;
  int64_t pixels() const;
  int64_t channels() const;
  bool meets_zero() const;
  void advance(int64_t columns);
  void pass_over();

  ConvLoop loop_;
  int64_t och_ = 0;
  int64_t krow_ = 0;
  int64_t kcol_ = 0;
  int64_t kch_ = 0;
  int64_t b_ = 0;
  int64_t orow_ = 0;
  int64_t ocol_ = 0;
  bool has_new_weights_ = true;
  bool is_configured_;
  bool is_preloaded_ = false;
  bool is_done_ = false;
  int64_t passed_over_ = 0;
};

// Policy (LoopConvSt): MVOUTs of up to `dim` pixels of one output row and `dim` channels. Order:
// channels inner, columns, rows, batches outer. With pooling: a CONFIG_ST that sets it, one MVOUT
// for all rows and columns of each batch and block of channels (channels inner), a CONFIG_ST that
// ends it; both keep the scale.
class ConvStore {
 public:
  explicit ConvStore(const ConvLoop& loop);
  bool is_done() const { return state_ == State::kDone; }
  std::optional<Command> next();

 private:
  enum class State { kConfigure, kStore, kRestore, kDone };
  Command configure_pooling() const;
  Command end_pooling() const;
  Command store() const;
  uint64_t offset_elements() const;
  void advance();

  ConvLoop loop_;
  State state_;
  int64_t b_ = 0;
  int64_t orow_ = 0;
  int64_t ocol_ = 0;
  int64_t och_ = 0;
};

}  // namespace npu::gemmini::loops
