// A body node by node: its loops cut and unrolled where that pays, sums made outside of them, and
// again so with some of the loops treated otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rewrite/change.h"
#include "rewrite/command_set.h"
#include "rewrite/conditions.h"
#include "rewrite/hoister.h"
#include "rewrite/loop_ids.h"
#include "rewrite/nodes.h"
#include "rewrite/options.h"
#include "rewrite/splitter.h"
#include "rewrite/sums.h"
#include "rewrite/unroller.h"

namespace npu::rewrite {

// What the nodes of a body, each by itself, become. What was made once is kept: of changes that are
// tried one after the other most cut the same loops.
class Parts {
 public:
  Parts(Nodes& nodes, Places& places, Decider& decider, const CommandSet& commands,
        const Options& options, const Body* body);

  const Body* body() const { return body_; }
  const Options& options() const { return options_; }

  // The same commands, with a change besides what pays by itself.
  const Body* changed(const Change& change);
  // Whether the change, or what pays by itself, joins so many iterations of a loop already.
  bool is_joined(const Change& change, uint32_t loop_id, int64_t iterations);
  // The same commands, with the other passes.
  const Body* without_unrolling();

  // What passes leave, to be shown.
  const Body* after_splitting();
  const Body* after_unrolling();
  const Body* after_hoisting();

 private:
  const Body* part(size_t at, const Change& change);
  const Body* unrolled(size_t at, const Change& change);
  const Unrolled& joined(size_t at, const Change& change);
  const Body* split(size_t at, const Change& change);
  const Body* whole(const std::vector<const Body*>& parts);
  const Body* together(const std::vector<const Body*>& parts);
  template <typename Make>
  std::vector<const Body*> each(const Make& make);

  Nodes& nodes_;
  const Options options_;
  const Body* const body_;
  LoopIds loop_ids_;
  Splitter splitter_;
  Unroller unroller_;
  Hoister hoister_;
  SumSharer sums_;
  std::vector<std::vector<uint32_t>> ids_in_;                    // of loops in each node, in order
  std::unordered_map<uint32_t, std::vector<size_t>> with_loop_;  // where in the body each loop is
  std::vector<const Body*> unchanged_;
  // Of each node: by which loops are cut, by the change.
  std::vector<std::map<std::vector<uint32_t>, const Body*>> split_;
  std::vector<std::map<Change, Unrolled>> joined_;
  std::vector<std::map<Change, const Body*>> found_;
};

}  // namespace npu::rewrite
