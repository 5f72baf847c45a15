#include "gemmini/simulator/loops/half.h"

#include <string>

namespace npu::gemmini::loops {
namespace {

constexpr int64_t kBeyondAnyMemory = int64_t{1} << 40;

}  // namespace

int64_t bounded_product(int64_t a, int64_t b) {
  if (a != 0 && b > kBeyondAnyMemory / a) return kBeyondAnyMemory;
  return a * b;
}

int64_t half_of(const RunningCommand& running, const char* operand, uint64_t id, int64_t slot) {
  if (id == 0) return slot;
  if (id == 3) {
    running.fail(ErrorKind::kAddressOutOfRange,
                 std::string("needs 0 (the loop's own), 1 or 2 for the half of the scratchpad "
                             "with ") +
                     operand + ", has 3");
  }
  return static_cast<int64_t>(id) - 1;
}

void check_half(const RunningCommand& running, const char* what, int64_t rows, const char* memory,
                int64_t half_rows) {
  if (rows <= half_rows) return;
  running.fail(ErrorKind::kAddressOutOfRange, std::string("needs a tile whose ") + what +
                                                  " takes at most " + std::to_string(half_rows) +
                                                  " rows, half of the " + memory + ", has " +
                                                  std::to_string(rows));
}

void check_operands(const RunningCommand& running, const HalfOperand& a, const HalfOperand& b,
                    int64_t half_rows) {
  check_half(running, a.name, a.rows, "scratchpad", half_rows);
  check_half(running, b.name, b.rows, "scratchpad", half_rows);
  if (a.half != b.half) return;
  const std::string both = std::string(a.name) + " and " + b.name + " together";
  check_half(running, both.c_str(), a.rows + b.rows, "scratchpad", half_rows);
}

void fail_undefined(const RunningCommand& running, const char* loop, int funct) {
  running.fail(ErrorKind::kUndefinedConfiguration,
               std::string("needs command ") + std::to_string(funct) + " of " + loop +
                   " before it, has none: the device keeps two sets of them and uses them in turn, "
                   "so the first two loops each set their own");
}

}  // namespace npu::gemmini::loops
