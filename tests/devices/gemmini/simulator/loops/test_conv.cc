// LOOP_CONV_WS: what each unit issues, in which order.
#include <algorithm>

#include "device_api/cpp/check.h"
#include "gemmini/simulator/loops/conv_loads.h"
#include "gemmini/simulator/loops/conv_units.h"
#include "loop_words.h"

namespace npu::gemmini::testing {
namespace {

using loops::ConvLoop;

// Without CONFIG_LD's scale, which is always one.
Command load_config(uint64_t id, uint64_t block_stride, uint64_t repeats, uint64_t stride) {
  return config_ld(stride, 1.0f, false, id, block_stride, repeats);
}

void check_commands(const std::vector<Command>& has, const std::vector<Command>& needs) {
  CHECK_EQUAL(has.size(), needs.size());
  for (size_t i = 0; i < has.size(); ++i) {
    CHECK_EQUAL(int{has[i].funct}, int{needs[i].funct});
    CHECK_EQUAL(has[i].rs1, needs[i].rs1);
    CHECK_EQUAL(has[i].rs2, needs[i].rs2);
  }
}

const Test bias("loops/conv: a bias goes to all pixels, row by row", [] {
  ConvWords words;
  words.rows = 2;
  words.cols = 17;
  words.out_channels = 20;
  const auto loop = loop_of<ConvLoop>(device(), words.words());
  // 34 pixels per block of channels; channels first, then pixels 0 and 16 of the first row.
  check_commands(all_of(loops::ConvLoadBias(loop)), {load_config(2, 34, 1, 0),
                                                     {kMvin3, kDram, tile(kAcc, 16, 16)},
                                                     {kMvin3, kDram + 64, tile(kAcc | 34, 16, 4)},
                                                     {kMvin3, kDram, tile(kAcc | 16, 1, 16)},
                                                     {kMvin3, kDram + 64, tile(kAcc | 50, 1, 4)},
                                                     {kMvin3, kDram, tile(kAcc | 17, 16, 16)},
                                                     {kMvin3, kDram + 64, tile(kAcc | 51, 16, 4)},
                                                     {kMvin3, kDram, tile(kAcc | 33, 1, 16)},
                                                     {kMvin3, kDram + 64, tile(kAcc | 67, 1, 4)}});
  words.rs1 = 1;  // no bias: zeros
  const auto zeros = all_of(loops::ConvLoadBias(loop_of<ConvLoop>(device(), words.words())));
  CHECK_EQUAL(zeros.size(), size_t{9});
  CHECK_EQUAL(zeros[2].rs1, uint64_t{0});
  words.bias = 0;  // not loaded: adds to what is there
  CHECK(loops::ConvLoadBias(loop_of<ConvLoop>(device(), words.words())).is_done());
});

const Test input("loops/conv: padding is loaded apart, from nowhere", [] {
  ConvWords words;
  words.rows = 2;
  words.cols = 2;
  words.kernel = 3;
  words.pad = 1;
  const auto loop = loop_of<ConvLoop>(device(), words.words());
  // A tile of 4x4 pixels, 2x2 of them in the image of 2x2 pixels of 4 channels.
  std::vector<Command> needs = {load_config(0, 16, 1, 4)};
  for (uint32_t row = 0; row < 4; ++row) {
    const bool is_inside = row == 1 || row == 2;
    const uint64_t inside = is_inside ? kDram + (row - 1) * 8 : 0;
    needs.push_back({kMvin, 0, tile(4 * row, 1, 4)});
    needs.push_back({kMvin, inside, tile(4 * row + 1, 2, 4)});
    needs.push_back({kMvin, 0, tile(4 * row + 3, 1, 4)});
  }
  check_commands(all_of(loops::ConvLoadInput(loop)), needs);
});

const Test downsampled("loops/conv: downsampling leaves out what nobody reads", [] {
  ConvWords words;
  words.rows = 2;
  words.cols = 18;
  words.stride = 2;
  words.rs2 = 3;
  auto commands = words.words();
  commands[2].rs2 &= ~(uint64_t{0xFF} << 24) & ~(uint64_t{0xFFFF} << 48);  // no padding
  const auto loop = loop_of<ConvLoop>(device(), commands);
  const uint64_t in_row = 4 * 35;
  check_commands(all_of(loops::ConvLoadInput(loop)),
                 {load_config(0, 36, 1, 8),
                  {kMvin, kDram, tile(0, 16, 4)},
                  {kMvin, kDram + 128, tile(16, 2, 4)},
                  {kMvin, kDram + 2 * in_row, tile(18, 16, 4)},
                  {kMvin, kDram + 2 * in_row + 128, tile(34, 2, 4)}});
});

const Test weights("loops/conv: weights end where the half does", [] {
  ConvWords words;
  words.in_channels = 20;
  words.out_channels = 5;
  words.rows = words.cols = 1;
  words.kernel = 2;
  auto loads = all_of(loops::ConvLoadWeights(loop_of<ConvLoop>(device(), words.words())));
  // 4 kernel positions of 20 input channels each.
  CHECK_EQUAL(loads.size(), size_t{9});
  check_commands({loads[0], loads[1], loads[2], loads[3], loads[8]},
                 {load_config(1, 80, 1, 5),
                  {kMvin2, kDram, tile(432, 16, 5)},
                  {kMvin2, kDram + 80, tile(448, 4, 5)},
                  {kMvin2, kDram + 100, tile(452, 16, 5)},
                  {kMvin2, kDram + 380, tile(508, 4, 5)}});
  words.rs1 = 1 << 4;  // 0132: output channels are the rows
  loads = all_of(loops::ConvLoadWeights(loop_of<ConvLoop>(device(), words.words())));
  check_commands({loads[0], loads[1], loads[2]}, {load_config(1, 20, 1, 20),
                                                  {kMvin2, kDram, tile(472, 5, 20)},
                                                  {kMvin2, kDram + 100, tile(477, 5, 20)}});
});

const Test execute("loops/conv: a pair per output row and kernel position", [] {
  ConvWords words;
  words.rows = 2;
  words.cols = 3;
  words.kernel = 2;
  const auto loop = loop_of<ConvLoop>(device(), words.words());
  const auto commands = all_of(loops::ConvExecute(loop));
  CHECK_EQUAL(commands.size(), size_t{16});
  const uint64_t nothing = tile(kGarbage, 3, 4);
  // The first kernel position: both rows; then the next column of the kernel.
  check_commands({commands.begin(), commands.begin() + 6},
                 {{kPreload, tile(496, 4, 4), tile(kAccumulate, 3, 4)},
                  {kComputePreloaded, tile(0, 3, 4), nothing},
                  {kPreload, tile(kGarbage, 4, 4), tile(kAccumulate | 3, 3, 4)},
                  {kComputeAccumulated, tile(4, 3, 4), nothing},
                  {kPreload, tile(500, 4, 4), tile(kAccumulate, 3, 4)},
                  {kComputePreloaded, tile(1, 3, 4), nothing}});
  words.rs1 = 2;  // rotated: the last weights first
  const auto rotated = all_of(loops::ConvExecute(loop_of<ConvLoop>(device(), words.words())));
  CHECK_EQUAL(rotated[0].rs1, tile(508, 4, 4));
  CHECK_EQUAL(rotated[14].rs1, tile(kGarbage, 4, 4));
  CHECK_EQUAL(rotated[12].rs1, tile(496, 4, 4));
});

const Test pixels("loops/conv: several pixels of few channels share a row", [] {
  ConvWords words;
  words.rows = 1;
  words.cols = 3;
  words.kernel = 3;
  words.rs1 = 2 << 8;
  const auto loop = loop_of<ConvLoop>(device(), words.words());
  CHECK_EQUAL(all_of(loops::ConvLoadInput(loop)).front().rs1, load_config(0, 15, 2, 4).rs1);
  const auto commands = all_of(loops::ConvExecute(loop));
  CHECK_EQUAL(commands.size(), size_t{12});  // two per row of the kernel: columns 0 and 1, then 2
  CHECK_EQUAL(commands[1].rs1, tile(0, 3, 8));
  CHECK_EQUAL(commands[3].rs1, tile(2, 3, 4));
});

const Test dilated("loops/conv: a dilated input's zeros take time and no command", [] {
  ConvWords words;
  words.rows = 2;
  words.cols = 3;
  words.rs2 = 5;
  const auto loop = loop_of<ConvLoop>(device(), words.words());
  loops::ConvExecute execute(loop);
  CHECK_EQUAL(execute.passed_over(), int64_t{0});
  CHECK_EQUAL(execute.next()->rs2, tile(kAccumulate, 2, 4));  // columns 0 and 2
  CHECK_EQUAL(execute.next()->rs1, tile(0, 2, 4));
  CHECK_EQUAL(execute.passed_over(), int64_t{3});  // the second row, pixel by pixel
  CHECK(execute.is_done());
});

const Test store("loops/conv: stores, and what surrounds them with pooling", [] {
  ConvWords words;
  words.cols = 17;
  words.rows = 1;
  words.out_channels = 20;
  check_commands(all_of(loops::ConvStore(loop_of<ConvLoop>(device(), words.words()))),
                 {{kMvout, kDram, tile(kAcc, 16, 16)},
                  {kMvout, kDram + 16, tile(kAcc | 17, 16, 4)},
                  {kMvout, kDram + 320, tile(kAcc | 16, 1, 16)},
                  {kMvout, kDram + 336, tile(kAcc | 33, 1, 4)}});
  words.rs2 = 1 << 3;  // ReLU, pooling of size 1 and stride 1
  const uint64_t keep = uint64_t{0xFFFFFFFF} << 32 | 20;
  const uint64_t sizes = uint64_t{0x11011101} << 32 | uint64_t{17} << 24;
  check_commands(all_of(loops::ConvStore(loop_of<ConvLoop>(device(), words.words()))),
                 {{kConfig, sizes | 1 << 6 | 1 << 4 | 1 << 2 | kConfigSt, keep},
                  {kMvout, kDram, tile(kAcc, 0, 16)},
                  {kMvout, kDram + 16, tile(kAcc | 17, 0, 4)},
                  {kConfig, 1 << 2 | kConfigSt, keep}});
  words.output = 0;
  CHECK(loops::ConvStore(loop_of<ConvLoop>(device(), words.words())).is_done());
});

const Test halves("loops/conv: the accumulator's half moves on with an output", [] {
  const Config config = device();
  loops::LoopRegisters registers(config);
  ConvWords sums;
  sums.output = 0;
  const ConvWords last;
  CHECK_EQUAL(loop_of<ConvLoop>(registers, sums.words()).acc_row, int64_t{0});
  const auto second = loop_of<ConvLoop>(registers, last.words());
  CHECK_EQUAL(second.acc_row, int64_t{0});
  CHECK_EQUAL(second.input_row, int64_t{512});
  const auto third = loop_of<ConvLoop>(registers, last.words());
  CHECK_EQUAL(third.acc_row, int64_t{128});
  CHECK_EQUAL(third.input_row, int64_t{0});
});

}  // namespace
}  // namespace npu::gemmini::testing
