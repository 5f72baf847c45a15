#include "rewrite/loop_ids.h"

#include <algorithm>

namespace npu::rewrite {

const std::vector<uint32_t>& LoopIds::of(const Node* loop) {
  const auto known = found_.find(loop);
  if (known != found_.end()) return known->second;
  std::vector<uint32_t> ids = {loop->loop_id};
  for (const Node* node : loop->body->nodes) {
    if (node->is_command()) continue;
    const std::vector<uint32_t>& inside = of(node);
    ids.insert(ids.end(), inside.begin(), inside.end());
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return found_[loop] = std::move(ids);
}

}  // namespace npu::rewrite
