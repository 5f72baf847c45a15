// Loops and conditions as code, and the words that registers hold in them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory_resource>
#include <utility>
#include <vector>

#include "sim/known_values.h"

namespace npu::sim {

constexpr int kNoScope = -1;

// A word that a register may hold.
struct HostWord {
  static constexpr int kConstant = -3;  // `value`
  static constexpr int kCounter = -2;   // of the loop that `value` numbers
  static constexpr int kEnd = -1;       // where that loop ends
  int family = kConstant;               // of operands, if not negative: the one of offset `value`
  KnownValue value;

  bool operator<(const HostWord& other) const {
    return family != other.family ? family < other.family : value < other.value;
  }
};

struct HostUses {
  using allocator_type = std::pmr::polymorphic_allocator<std::pair<uint32_t, uint32_t>>;
  explicit HostUses(const allocator_type& allocator) : steps(allocator) {}

  bool runs = false;    // the scope changes it: what memory holds is stored there as well
  bool begins = false;  // in each turn of the scope; else it comes from outside
  // The scope's steps that need it, with the loads and stores that they take if memory holds it.
  // In their order: few, and most come in it.
  std::pmr::vector<std::pair<uint32_t, uint32_t>> steps;

  void add(uint32_t step, uint32_t accesses) {
    auto at = steps.end();
    while (at != steps.begin() && std::prev(at)->first >= step) --at;
    if (at == steps.end() || at->first != step) {
      steps.insert(at, {step, accesses});
    } else {
      at->second = std::max(at->second, accesses);
    }
  }
};

using HostWords = std::pmr::map<HostWord, HostUses>;

// A loop or a condition that becomes code. Scopes are numbered in the order of the program, so that
// the innermost of a path has the highest number.
struct HostScope {
  // Its words are in this memory.
  explicit HostScope(std::pmr::memory_resource* memory) : words(memory) {}

  int parent = kNoScope;
  int depth = 1;
  bool is_loop = true;
  uint64_t extent = 0;  // of a loop; 0: known when it runs
  uint32_t entry = 0;   // its steps
  uint32_t bottom = 0;
  bool is_counted = false;  // an expression uses its variable
  uint64_t commands = 0;    // directly in it
  // The innermost section that it is in: a loop beside others in one around it, before which what
  // only its code needs is made.
  int section = kNoScope;
  HostWords words;
  std::vector<uint64_t> ends;  // how far its running registers go

  bool is_fixed() const { return is_loop && extent != 0; }
};

}  // namespace npu::sim
