// Loops of few commands, unrolled: iterations share the branch and the additions at the end, and
// what differed from one to the next is a constant.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rewrite/conditions.h"
#include "rewrite/loop_ids.h"
#include "rewrite/nodes.h"

namespace npu::rewrite {

// How many iterations of loops become one, by the loops' ids, in order.
using Joined = std::vector<std::pair<uint32_t, int64_t>>;

// What nodes became; and of each loop its id, its extent, and how many iterations became one.
struct Unrolled {
  const Body* body = nullptr;
  std::vector<std::tuple<uint32_t, int64_t, int64_t>> taken;  // in order, each once
};

// Unrolls loops, and keeps what it made of them.
class Unroller {
 public:
  Unroller(Nodes& nodes, Decider& decider, LoopIds& loop_ids)
      : nodes_(nodes), decider_(decider), loop_ids_(loop_ids) {}

  // The same commands, with fewer iterations. Of loops that are `joined` so many become one, or all
  // where there are fewer; of others as many as pay.
  Unrolled unrolled(const Body* body, const Joined& joined) { return this->body(body, 1, joined); }

 private:
  Unrolled body(const Body* body, int64_t times, const Joined& joined);
  Unrolled loop(const Node* node, int64_t times, const Joined& joined);
  const Body* by(const Node* loop, int64_t extent, int64_t factor);
  const Body* iterations(const Node* loop, int64_t begin, int64_t end);

  Nodes& nodes_;
  Decider& decider_;
  LoopIds& loop_ids_;
  // By how often they are run and what is joined.
  std::map<std::pair<int64_t, Joined>, std::unordered_map<const Node*, Unrolled>> made_;
};

}  // namespace npu::rewrite
