// What passes know of a device's commands.
#pragma once

#include <cstdint>
#include <vector>

namespace npu::rewrite {

// So many bits of a word, from one on.
struct BitField {
  uint32_t low;
  uint32_t width;
};

// A class of commands, told by bits of the first word.
struct CommandClass {
  uint8_t funct;
  uint64_t tag_mask;
  uint64_t tag;
  bool is_setting;    // only sets what later commands obey
  bool is_computing;  // is a part of the device's steps, between which the host has time
  bool is_looping;    // starts a loop of the device's own, which issues many commands
  std::vector<BitField> rows[2];  // where the numbers of rows are in each word
};

struct CommandSet {
  std::vector<CommandClass> classes;

  // nullptr where the device has no such command.
  const CommandClass* find(uint8_t funct, uint64_t word1) const {
    for (const CommandClass& found : classes) {
      if (found.funct == funct && (word1 & found.tag_mask) == found.tag) return &found;
    }
    return nullptr;
  }
};

}  // namespace npu::rewrite
