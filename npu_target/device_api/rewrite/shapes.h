// What parts of a program have in common: commands and loops, but for the numbers that operands
// begin with.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rewrite/command_set.h"
#include "rewrite/nodes.h"

namespace npu::rewrite {

// A node, and what it is like.
struct Shape {
  // A word of it: where it begins, and where in that the numbers of rows are; nullptr: it is an
  // address in an argument.
  struct Word {
    uint64_t base;
    const std::vector<BitField>* rows;
  };
  const Node* node;
  uint32_t number;  // those like it have the same
  std::vector<Word> words;
  int64_t size;  // commands and loops
};

// Gives nodes that differ in their operands' bases and in the names of their loops the same number.
//
// A variable is told by how many loops lie between the command and its own, so that what is said
// of a node holds wherever it stands.
class Shapes {
 public:
  explicit Shapes(const CommandSet& commands) : commands_(commands) {}

  // The shape of a node inside of the loops around.
  Shape of(const Node* node);
  Shape command(const Node* node);
  // Of a loop whose body is of these shapes.
  Shape loop(const Node* node, const std::vector<Shape>& parts);

  void enter(const Node* loop) { around_.push_back(loop->loop_id); }
  void leave() { around_.pop_back(); }

 private:
  // All that is to be equal, as numbers.
  using Key = std::vector<uint64_t>;
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  uint32_t loops_between(uint32_t loop_id) const;
  void append(Key& key, const Operand& operand) const;
  void append(Key& key, const Expr* expr) const;
  uint32_t number(Key key);

  const CommandSet& commands_;
  std::vector<uint32_t> around_;  // ids of loops, outermost first
  std::unordered_map<Key, uint32_t, Hash> numbers_;
};

}  // namespace npu::rewrite
