// LOOP_WS: what each unit issues, in which order, to which half.
#include "device_api/cpp/check.h"
#include "gemmini/simulator/loops/matmul_units.h"
#include "loop_words.h"

namespace npu::gemmini::testing {
namespace {

using loops::AbsentRows;
using loops::MatmulLoop;

// Local rows that commands name, without flags.
std::vector<int64_t> rows_of(const std::vector<Command>& commands) {
  std::vector<int64_t> rows;
  for (const Command& command : commands) rows.push_back(LocalOperand(command.rs2).row());
  return rows;
}

void check_commands(const std::vector<Command>& has, const std::vector<Command>& needs) {
  CHECK_EQUAL(has.size(), needs.size());
  for (size_t i = 0; i < has.size(); ++i) {
    CHECK_EQUAL(int{has[i].funct}, int{needs[i].funct});
    CHECK_EQUAL(has[i].rs1, needs[i].rs1);
    CHECK_EQUAL(has[i].rs2, needs[i].rs2);
  }
}

// Halves: 512 rows of scratchpad, 128 of accumulator.
const Test loads("loops/matmul: loads take blocks along a row, the other bound first", [] {
  MatmulWords words;
  words.i = 2;
  words.j = 2;
  words.k = 5;
  words.i_pad = 3;
  words.k_pad = 7;
  const auto loop = loop_of<MatmulLoop>(device(), words.words());
  // k = 0 for both i, then k = 4. A row is 5 blocks of 16 local rows; DRAM rows are 100 B.
  check_commands(all_of(loops::MatmulLoadA(loop)), {{kMvin, kDram, tile(0, 16, 64)},
                                                    {kMvin, kDram + 1600, tile(80, 13, 64)},
                                                    {kMvin, kDram + 64, tile(64, 16, 9)},
                                                    {kMvin, kDram + 1664, tile(144, 13, 9)}});
  // B ends where the half does: 512 - 160. Its last rows are loaded although they do not exist.
  const auto b = all_of(loops::MatmulLoadB(loop, AbsentRows::kLoaded));
  CHECK_EQUAL(b.size(), size_t{5});
  check_commands({b.front(), b.back()}, {{kMvin2, kDram, tile(352, 16, 32)},
                                         {kMvin2, kDram + 4 * 3200, tile(480, 16, 32)}});
  const auto without = all_of(loops::MatmulLoadB(loop, AbsentRows::kLeftOut));
  check_commands({without.back()}, {{kMvin2, kDram + 4 * 3200, tile(480, 9, 32)}});
  CHECK(loops::MatmulLoadD(loop).is_done());
});

const Test transposed("loops/matmul: transposed operands lie the other way round", [] {
  MatmulWords words;
  words.i = 5;
  words.k = 2;
  words.rs2 = 1;
  // Rows of A in DRAM are k now: i runs first, by 4 blocks.
  const auto a = all_of(loops::MatmulLoadA(loop_of<MatmulLoop>(device(), words.words())));
  check_commands(a, {{kMvin, kDram, tile(0, 16, 64)},
                     {kMvin, kDram + 64, tile(64, 16, 16)},
                     {kMvin, kDram + 1600, tile(80, 16, 64)},
                     {kMvin, kDram + 1664, tile(144, 16, 16)}});
  words = {};
  words.j = 2;
  words.k = 5;
  words.rs2 = 2;
  const auto loop = loop_of<MatmulLoop>(device(), words.words());
  loops::MatmulLoadB b(loop, AbsentRows::kLoaded);
  // j inner, k outer by 4 blocks.
  CHECK_EQUAL(b.next()->rs1, kDram);
  CHECK_EQUAL(b.j(), int64_t{1});
  CHECK_EQUAL(b.k(), int64_t{0});
  CHECK_EQUAL(b.next()->rs1, kDram + 3200);
  CHECK_EQUAL(b.j(), int64_t{0});
  CHECK_EQUAL(b.k(), int64_t{4});
});

const Test execute("loops/matmul: computes go i, j, k; weights come with the first i", [] {
  MatmulWords words;
  words.i = 2;
  words.k = 2;
  words.k_pad = 6;
  const auto commands = all_of(loops::MatmulExecute(loop_of<MatmulLoop>(device(), words.words())));
  const uint64_t nothing = tile(kGarbage, 16, 16);
  check_commands(commands, {{kPreload, tile(480, 16, 16), tile(kAcc, 16, 16)},
                            {kComputePreloaded, tile(0, 16, 16), nothing},
                            {kPreload, tile(kGarbage, 16, 16), tile(kAcc | 16, 16, 16)},
                            {kComputeAccumulated, tile(32, 16, 16), nothing},
                            {kPreload, tile(496, 10, 16), tile(kAccumulate, 16, 16)},
                            {kComputePreloaded, tile(16, 16, 10), nothing},
                            {kPreload, tile(kGarbage, 10, 16), tile(kAccumulate | 16, 16, 16)},
                            {kComputeAccumulated, tile(48, 16, 10), nothing}});
  words.rs1 = 1;  // accumulate from the first k on
  const auto more = all_of(loops::MatmulExecute(loop_of<MatmulLoop>(device(), words.words())));
  CHECK_EQUAL(more[0].rs2, tile(kAccumulate, 16, 16));
});

const Test store("loops/matmul: stores take 4 blocks of int8 or one of int32", [] {
  MatmulWords words;
  words.i = 1;
  words.j = 5;
  words.j_pad = 1;
  auto commands = all_of(loops::MatmulStore(loop_of<MatmulLoop>(device(), words.words())));
  check_commands(commands, {{kMvout, kDram, tile(kAcc, 16, 64)},
                            {kMvout, kDram + 64, tile(kAcc | 64, 16, 15)}});
  words.rs1 = 2;
  commands = all_of(loops::MatmulStore(loop_of<MatmulLoop>(device(), words.words())));
  CHECK_EQUAL(commands.size(), size_t{5});
  check_commands({commands[4]}, {{kMvout, kDram + 256, tile(kFullWidth | 64, 16, 15)}});
});

const Test halves("loops/matmul: loops take the halves in turn", [] {
  const Config config = device();
  loops::LoopRegisters registers(config);
  MatmulWords words;
  words.d = kDram;
  for (const int64_t half : {0, 1, 0}) {
    const auto loop = loop_of<MatmulLoop>(registers, words.words());
    CHECK_EQUAL(rows_of(all_of(loops::MatmulLoadA(loop))).front(), half * 512);
    CHECK_EQUAL(rows_of(all_of(loops::MatmulLoadB(loop, AbsentRows::kLoaded))).front(),
                half * 512 + 496);
    CHECK_EQUAL(rows_of(all_of(loops::MatmulLoadD(loop))).front(), half * 128);
    CHECK_EQUAL(rows_of(all_of(loops::MatmulExecute(loop))).front(), half * 128);
    CHECK_EQUAL(rows_of(all_of(loops::MatmulStore(loop))).front(), half * 128);
  }
});

const Test acc_halves("loops/matmul: the accumulator's half moves on with a store", [] {
  const Config config = device();
  loops::LoopRegisters registers(config);
  MatmulWords sums;
  sums.c = 0;
  MatmulWords last;
  CHECK_EQUAL(loop_of<MatmulLoop>(registers, sums.words()).execute_c_row, int64_t{0});
  CHECK_EQUAL(loop_of<MatmulLoop>(registers, last.words()).execute_c_row, int64_t{0});
  CHECK_EQUAL(loop_of<MatmulLoop>(registers, sums.words()).execute_c_row, int64_t{128});
  // A loop that skips its computes leaves them their half, and takes the store's on.
  last.rs2 = 1 << 6;
  auto loop = loop_of<MatmulLoop>(registers, last.words());
  CHECK_EQUAL(loop.store_c_row, int64_t{128});
  loop = loop_of<MatmulLoop>(registers, sums.words());
  CHECK_EQUAL(loop.execute_c_row, int64_t{128});
  CHECK_EQUAL(loop.store_c_row, int64_t{0});
});

const Test ids("loops/matmul: ids choose the halves of A and B", [] {
  MatmulWords words;
  words.rs1 = uint64_t{2} << 18 | uint64_t{1} << 16;
  const auto loop = loop_of<MatmulLoop>(device(), words.words());
  CHECK_EQUAL(loop.a_row, int64_t{512});
  CHECK_EQUAL(loop.b_row, int64_t{496});
});

const Test residual("loops/matmul: residual add loads both into the accumulator", [] {
  const Config config = device();
  loops::LoopRegisters registers(config);
  MatmulWords words;
  words.i = 2;
  words.k = 0;
  words.rs2 = 4;
  loop_of<MatmulLoop>(registers, words.words());
  const auto loop = loop_of<MatmulLoop>(registers, words.words());  // the second half
  check_commands(
      all_of(loops::MatmulLoadA(loop)),
      {{kMvin, kDram, tile(kAcc | 128, 16, 16)}, {kMvin, kDram + 1600, tile(kAcc | 144, 16, 16)}});
  check_commands({all_of(loops::MatmulLoadB(loop, AbsentRows::kLoaded)).back()},
                 {{kMvin2, kDram + 3200, tile(kAccumulate | 144, 16, 16)}});
  CHECK(loops::MatmulExecute(loop).is_done());
  check_commands({all_of(loops::MatmulStore(loop)).back()},
                 {{kMvout, kDram + 6400, tile(kAcc | 144, 16, 16)}});
});

}  // namespace
}  // namespace npu::gemmini::testing
