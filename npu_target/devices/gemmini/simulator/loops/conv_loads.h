// The load units of the LOOP_CONV_WS unroller.
//
// As with LOOP_WS, a unit hands out its commands in the hardware's order and leaves the waiting to
// the caller. Each begins with a CONFIG_LD of its own, if it loads anything.
#pragma once

#include <cstdint>
#include <optional>

#include "gemmini/simulator/command.h"
#include "gemmini/simulator/loops/conv.h"

namespace npu::gemmini::loops {

// Policy (LoopConvLdBias): MVIN3s of the bias to the accumulator, with a stride of 0 so that all
// pixels get the same. No bias at an address other than 0 loads zeros; address 0 leaves the
// accumulator as it is, so that the loop adds to it. A command takes up to `dim` pixels of one
// output row and as many channels as a request has room for. Order: channels inner, columns, rows,
// batches outer.
class ConvLoadBias {
 public:
  explicit ConvLoadBias(const ConvLoop& loop);
  bool is_done() const { return is_done_; }
  std::optional<Command> next();

 private:
  Command mvin() const;
  void advance();

  ConvLoop loop_;
  int64_t max_channels_;
  int64_t b_ = 0;
  int64_t orow_ = 0;
  int64_t ocol_ = 0;
  int64_t och_ = 0;
  bool is_configured_ = false;
  bool is_done_;
};

// Policy (LoopConvLdInput): MVINs of the input to the start of the loop's half. A command takes up
// to `dim` pixels of one input row (every second one when downsampling) and up to 4 blocks of
// channels, or, transposed, of batches. Padding is loaded from address 0, apart from the image.
// Order: channels inner, columns, rows, batches outer.
class ConvLoadInput {
 public:
  explicit ConvLoadInput(const ConvLoop& loop);
  bool is_done() const { return is_done_; }
  std::optional<Command> next();

 private:
  Command config() const;
  Command mvin() const;
  void advance();
  int64_t pixels() const;
  uint64_t offset_elements() const;

  ConvLoop loop_;
  int64_t max_channels_;
  int64_t b_ = 0;
  int64_t irow_;
  int64_t icol_;
  int64_t ich_ = 0;
  bool is_configured_ = false;
  bool is_done_;
};

// Policy (LoopConvLdWeight): MVIN2s of the weights to the end of the loop's half. A command takes
// up to `dim` input channels (its rows) and up to 4 blocks of output channels, the other way round
// with weights in the order 0132. Order: input channels inner, kernel columns, kernel rows, output
// channels outer.
class ConvLoadWeights {
 public:
  explicit ConvLoadWeights(const ConvLoop& loop);
  bool is_done() const { return is_done_; }
  std::optional<Command> next();

 private:
  Command config() const;
  Command mvin() const;
  void advance();
  uint64_t offset_elements() const;

  ConvLoop loop_;
  int64_t och_step_;
  int64_t kch_step_;
  int64_t och_ = 0;
  int64_t krow_ = 0;
  int64_t kcol_ = 0;
  int64_t kch_ = 0;
  bool is_configured_ = false;
  bool is_done_;
};

}  // namespace npu::gemmini::loops
