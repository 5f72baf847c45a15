// A device's commands, as Python hands them over.
#pragma once

#include <tvm/ffi/container/array.h>

#include <cstdint>
#include <utility>

#include "rewrite/command_set.h"

namespace npu {

// Of each class of commands: funct, the mask and the value of its tag, whether it is a setting,
// whether it is computing, whether it starts a loop of the device's own; then of each number of a
// row its word (0 or 1), its lowest bit, and how many there are.
using CommandClasses = tvm::ffi::Array<tvm::ffi::Array<int64_t>>;

inline rewrite::CommandSet command_set(const CommandClasses& classes) {
  constexpr size_t kHead = 6;
  constexpr size_t kRow = 3;
  rewrite::CommandSet commands;
  for (const tvm::ffi::Array<int64_t>& numbers : classes) {
    rewrite::CommandClass made{static_cast<uint8_t>(numbers[0]),
                               static_cast<uint64_t>(numbers[1]),
                               static_cast<uint64_t>(numbers[2]),
                               numbers[3] != 0,
                               numbers[4] != 0,
                               numbers[5] != 0,
                               {}};
    for (size_t at = kHead; at + kRow <= numbers.size(); at += kRow) {
      const auto low = static_cast<uint32_t>(numbers[at + 1]);
      made.rows[numbers[at] != 0].push_back({low, static_cast<uint32_t>(numbers[at + 2])});
    }
    commands.classes.push_back(std::move(made));
  }
  return commands;
}

}  // namespace npu
