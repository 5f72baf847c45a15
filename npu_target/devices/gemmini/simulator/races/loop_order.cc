#include "gemmini/simulator/races/loop_order.h"

#include <algorithm>
#include <string>
#include <variant>

#include "gemmini/simulator/loops/sequence.h"

namespace npu::gemmini::races {
namespace {

using Unit = LoopOrder::Unit;
using Taken = LoopOrder::Taken;
using UnitMask = unsigned;  // a bit each

constexpr UnitMask bit_of(Unit unit) { return 1u << unit; }
constexpr UnitMask kLoads =
    bit_of(LoopOrder::kLoadA) | bit_of(LoopOrder::kLoadB) | bit_of(LoopOrder::kLoadD);

const char* name_of(Unit unit, bool is_conv) {
  constexpr const char* kMatmul[] = {"loads of A", "loads of B", "loads of D", "computes",
                                     "stores of C"};
  constexpr const char* kConv[] = {"loads of the input", "loads of the weights",
                                   "loads of the bias", "computes", "stores of the output"};
  return (is_conv ? kConv : kMatmul)[unit];
}

Taken taken_of(const loops::MatmulLoop& loop, const MemoryRows& rows) {
  Taken taken{};
  taken.is_residual_add = loop.is_residual_add;
  const bool parts[] = {loop.has_load_a, loop.has_load_b, loop.has_load_d, loop.has_execute,
                        loop.has_store};
  std::copy(std::begin(parts), std::end(parts), taken.takes_part);
  const bool commands[] = {
      loop.has_load_a && loop.a_address != 0, loop.has_load_b && loop.b_address != 0,
      loop.has_load_d && loop.d_address != 0, loop.has_execute && !loop.is_residual_add,
      loop.has_store && loop.c_address != 0};
  std::copy(std::begin(commands), std::end(commands), taken.has_commands);
  const auto span = [&](bool is_acc, int64_t row, int64_t count) {
    return Span{rows.begin(is_acc) + row, rows.begin(is_acc) + row + count};
  };
  const bool adds = loop.is_residual_add;  // in the accumulator, in halves of their own always
  const int64_t half = rows.end(false) / 2;
  for (const bool is_other : {false, true}) {
    const auto place = [&](int64_t row, bool is_own) {
      return is_own && is_other ? (row + half) % (2 * half) : row;
    };
    const Span a = adds ? span(true, loop.a_row, loop.c_rows())
                        : span(false, place(loop.a_row, loop.is_a_in_own_half), loop.a_rows());
    const Span b = adds ? span(true, loop.b_row, loop.c_rows())
                        : span(false, place(loop.b_row, loop.is_b_in_own_half), loop.b_rows());
    taken.uses[is_other] = {
        {LoopOrder::kLoadA, true, a},
        {LoopOrder::kLoadB, true, b},
        {LoopOrder::kLoadD, true, span(true, loop.load_d_row, loop.c_rows())},
        {LoopOrder::kExecute, false, a},
        {LoopOrder::kExecute, false, b},
        {LoopOrder::kExecute, true, span(true, loop.execute_c_row, loop.c_rows())},
        {LoopOrder::kStore, false, span(true, loop.store_c_row, loop.c_rows())}};
  }
  return taken;
}

Taken taken_of(const loops::ConvLoop& loop, const MemoryRows& rows) {
  Taken taken{};
  taken.is_conv = true;
  std::fill(std::begin(taken.takes_part), std::end(taken.takes_part), true);
  const bool commands[] = {loop.input_address != 0, loop.weights_address != 0,
                           loop.bias_address != 0, true, loop.output_address != 0};
  std::copy(std::begin(commands), std::end(commands), taken.has_commands);
  const Span input{loop.input_row, loop.input_row + loop.input_rows};
  const Span weights{loop.weight_row, loop.weight_row + loop.weight_rows};
  const int64_t first = rows.begin(true) + loop.acc_row;
  const Span output{first, first + loop.output_rows};
  taken.uses[0] = {{LoopOrder::kLoadA, true, input},      {LoopOrder::kLoadB, true, weights},
                   {LoopOrder::kLoadD, true, output},     {LoopOrder::kExecute, false, input},
                   {LoopOrder::kExecute, false, weights}, {LoopOrder::kExecute, true, output},
                   {LoopOrder::kStore, false, output}};
  taken.uses[1] = taken.uses[0];
  return taken;
}

// Units of the loop that have issued everything when `unit` has.
UnitMask done_with(const Taken& loop, Unit unit) {
  if (!loop.takes_part[unit]) return 0;
  const UnitMask itself = bit_of(unit);
  if (!loop.has_commands[unit]) return itself;
  if (unit == LoopOrder::kExecute) return itself | kLoads;
  if (unit != LoopOrder::kStore) return itself;
  return itself | (loop.is_residual_add ? bit_of(LoopOrder::kLoadA) | bit_of(LoopOrder::kLoadB)
                                        : done_with(loop, LoopOrder::kExecute));
}

// Units of the loop before that have issued everything when `unit` of the next one begins.
UnitMask done_before(const Taken& before, const Taken& now, Unit unit) {
  UnitMask done = done_with(before, unit);
  switch (unit) {
    case LoopOrder::kLoadA:
    case LoopOrder::kLoadB: {
      // The arbiter of A and B waits for the older loop's, even where it has nothing more to do and
      // this loop leaves it out.
      const Unit other = unit == LoopOrder::kLoadA ? LoopOrder::kLoadB : LoopOrder::kLoadA;
      if (!now.takes_part[other] && before.takes_part[other]) done = ~UnitMask{0};
      break;
    }
    case LoopOrder::kLoadD:
      break;
    case LoopOrder::kExecute:
      for (const Unit load : {LoopOrder::kLoadA, LoopOrder::kLoadB, LoopOrder::kLoadD}) {
        if (now.takes_part[load]) done |= done_with(before, load);
      }
      break;
    case LoopOrder::kStore:
      if (now.takes_part[LoopOrder::kExecute] && !now.is_residual_add) {
        done |= done_before(before, now, LoopOrder::kExecute);
      }
      break;
  }
  return done;
}

}  // namespace

void LoopOrder::take(const Named& now, const loops::Loop* loop) {
  if (now.index != last_index_ + 1) fence();
  last_index_ = now.index;
  const bool is_matmul = now.command.funct <= kLoopWsConfigLast;
  // It passes the unroller of convolutions like any command.
  if (is_matmul) conv_.reset();
  if (loop == nullptr) return;
  Taken taken = std::visit([&](const auto& of_kind) { return taken_of(of_kind, rows_); }, *loop);
  taken.name = now;
  std::optional<Taken>& before = is_matmul ? matmul_ : conv_;
  if (before) check(taken, *before);
  before = std::move(taken);
  // What comes of a convolution waits until the other unroller is through.
  if (!is_matmul && loops::LoopSequence(*loop).next()) matmul_.reset();
}

void LoopOrder::fence() {
  matmul_.reset();
  conv_.reset();
}

void LoopOrder::check(const Taken& now, const Taken& before) const {
  if (now.is_residual_add != before.is_residual_add) {
    fail(now.name, before.name,
         "whether loop_ws adds (residual add) is one setting for both loops under way, and is "
         "changed at once; put a fence or a command that is not of loops between them");
  }
  for (const size_t first_half : {0, 1}) check_uses(now, before, first_half);
}

void LoopOrder::check_uses(const Taken& now, const Taken& before, size_t first_half) const {
  for (const Use& use : now.uses[first_half]) {
    if (!now.has_commands[use.unit]) continue;
    const UnitMask done = done_before(before, now, use.unit);
    for (const Use& older : before.uses[first_half]) {
      if (!before.has_commands[older.unit] || (done & bit_of(older.unit)) != 0) continue;
      if (!(use.writes || older.writes) || !use.rows.overlaps(older.rows)) continue;
      const Span common{std::max(use.rows.start, older.rows.start),
                        std::min(use.rows.end, older.rows.end)};
      fail(now.name, before.name,
           std::string("its ") + name_of(use.unit, now.is_conv) + " may begin before the " +
               name_of(older.unit, before.is_conv) + " of that loop are through, and both use " +
               rows_.text(common) + "; put a fence or a command that is not of loops between them");
    }
  }
}

}  // namespace npu::gemmini::races
