// The ids of loops and conditions that nodes are and have inside.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rewrite/nodes.h"

namespace npu::rewrite {

class LoopIds {
 public:
  // With its own; in order, each once.
  const std::vector<uint32_t>& of(const Node* loop);

 private:
  std::unordered_map<const Node*, std::vector<uint32_t>> found_;
};

}  // namespace npu::rewrite
