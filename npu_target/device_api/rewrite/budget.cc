#include "rewrite/budget.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rewrite/change.h"

namespace npu::rewrite {
namespace {

// Instructions a command, so that the host is ahead of the device, and bytes of code in loops, so
// that the instruction cache keeps them.
constexpr int64_t kMostInstructions = 3;
constexpr uint64_t kMostLoopBytes = 12 * 1024;
// With more than this to begin with nothing is tried: no change takes away as much as it has to.
constexpr uint64_t kHopelessLoopBytes = kMostLoopBytes + kMostLoopBytes / 16;
// Commands of a loop whose iterations are all written out: an eighth of those bytes, about.
constexpr int64_t kMostCommands = 128;
// A loop with a smaller part of the nodes that are run is not worth a try; with a smaller one of
// the two it is not even where nothing else helps.
constexpr double kLeastShare = 1.0 / 64;
constexpr double kLeastShareAtAll = 1.0 / 128;
// Commands that may be counted in no time. Of more, the most are in loops that take long anyway.
constexpr int64_t kMostCounted = 1 << 24;

// A body, and what it asks of the host.
struct Found {
  const Body* body;
  sim::HostDemand asked;
  Change change;

  // Instructions more than the host should have.
  int64_t excess() const {
    return static_cast<int64_t>(asked.instructions) -
           kMostInstructions * static_cast<int64_t>(asked.commands);
  }
  int64_t code_bytes() const { return static_cast<int64_t>(asked.loop_bytes + asked.once_bytes); }
};

// What is gained, and where that is equal, what besides.
using Gain = std::pair<double, double>;

int64_t excess_saved(const Found& before, const Found& after) {
  return before.excess() - std::max<int64_t>(0, after.excess());
}

// Instructions less of those that are too many; where these are as many, bytes of code.
Gain instructions_saved(const Found& before, const Found& after) {
  return {static_cast<double>(excess_saved(before, after)),
          static_cast<double>(before.code_bytes() - after.code_bytes())};
}

// How many commands a body issues, all conditions met.
int64_t commands_of(const Body& body) {
  int64_t total = 0;
  for (const Node* node : body.nodes) {
    const int64_t each = node->is_command()
                             ? 1
                             : saturated_product(std::max<int64_t>(0, node->fixed_extent()),
                                                 commands_of(*node->body));
    total = saturated_sum(total, each);
  }
  return total;
}

// Nodes of a body, with what is under its conditions.
int64_t size_of(const Body& body) {
  auto size = static_cast<int64_t>(body.nodes.size());
  for (const Node* node : body.nodes) {
    if (node->is_condition()) size += size_of(*node->body);
  }
  return size;
}

// Whether conditions in a loop are of its variable.
bool is_asked(const Node* loop) {
  bool found = false;
  for_each_node(*loop->body, [&](const Node& node) {
    if (!node.is_condition() || found) return;
    std::vector<const Expr*> left = {node.extent};
    while (!left.empty() && !found) {
      const Expr* part = left.back();
      left.pop_back();
      if ((part->loops & mask_of(loop->loop_id)) == 0) continue;
      found = part->is_var() && part->loop_id() == loop->loop_id;
      left.insert(left.end(), part->args.begin(), part->args.end());
    }
  });
  return found;
}

// How often nodes are run, and the loops of fixed extents, one of each id.
class Runs {
 public:
  explicit Runs(const Body& body) : whole_(count(body, 1)) {}

  // Those loops of which more than a share of all nodes that are run is, most first.
  std::vector<const Node*> heaviest(double least_share) const {
    std::vector<Entry> found;
    for (const Entry& entry : entries_) {
      if (static_cast<double>(entry.nodes_run) > least_share * static_cast<double>(whole_)) {
        found.push_back(entry);
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Entry& a, const Entry& b) { return a.nodes_run > b.nodes_run; });
    std::vector<const Node*> loops;
    for (const Entry& entry : found) loops.push_back(entry.loop);
    return loops;
  }

 private:
  struct Entry {
    const Node* loop;
    int64_t nodes_run;  // directly in it
  };

  // How many nodes are run.
  int64_t count(const Body& body, int64_t times) {
    int64_t total = 0;
    for (const Node* node : body.nodes) {
      total = saturated_sum(total, times);
      if (node->is_command()) continue;
      if (!node->extent->is_const()) {
        total = saturated_sum(total, count(*node->body, times));
        continue;
      }
      const int64_t inner = saturated_product(times, std::max<int64_t>(0, node->extent->value));
      total = saturated_sum(total, count(*node->body, inner));
      const auto [at, is_new] = places_.emplace(node->loop_id, entries_.size());
      if (is_new) entries_.push_back({node, 0});
      Entry& entry = entries_[at->second];
      entry.loop = node;
      entry.nodes_run =
          saturated_sum(entry.nodes_run, saturated_product(inner, 1 + size_of(*node->body)));
    }
    return total;
  }

  std::vector<Entry> entries_;
  std::unordered_map<uint32_t, size_t> places_;  // by loop id
  const int64_t whole_;
};

// The best body found so far.
class Search {
 public:
  Search(Parts& parts, const HostModel& host, const Body* first)
      : best_{first, host.demand(first), {}}, parts_(parts), host_(host) {}

  const Found& best() const { return best_; }

  // Cycles that the host is late less, without those of fetching the code that is more.
  Gain time_saved(const Found& before, const Found& after) const {
    const auto more_code = static_cast<double>(after.code_bytes() - before.code_bytes());
    return {static_cast<double>(excess_saved(before, after)) - host_.fetch_cycles * more_code, 0};
  }

  // Unroll none, where that takes fewer cycles: where registers do not suffice, what differs from
  // iteration to iteration is made and stored before the loops.
  void leave_loops() {
    if (!parts_.options().unrolling) return;
    const Body* body = parts_.without_unrolling();
    if (body == best_.body) return;
    const Found found{body, host_.demand(body), {}};
    const auto saved = static_cast<double>(best_.code_bytes() - found.code_bytes());
    const auto added = static_cast<double>(static_cast<int64_t>(found.asked.instructions) -
                                           static_cast<int64_t>(best_.asked.instructions));
    if (found.excess() <= 0 && added < host_.fetch_cycles * saved) best_ = found;
  }

  // Change the best body in that one of the loops and in the way that gains most.
  template <typename GainOf>
  void change(const std::vector<const Node*>& loops, const GainOf& gain) {
    const Found before = best_;
    if (before.excess() <= 0) return;
    Gain most{0, kLeast};
    for (const Node* loop : loops) {
      for (const Change& change : changes(before.change, loop)) {
        const Found& found = changed(change);
        const Gain gained = gain(before, found);
        if (gained.first > 0 && gained > most && found.asked.loop_bytes <= kMostLoopBytes) {
          best_ = found;
          most = gained;
        }
      }
    }
  }

 private:
  static constexpr double kLeast = -std::numeric_limits<double>::infinity();

  const Found& changed(const Change& change) {
    const auto known = tried_.find(change);
    if (known != tried_.end()) return known->second;
    const Body* body = parts_.changed(change);
    return tried_[change] = Found{body, host_.demand(body), change};
  }

  // What may be done to a loop, besides what was done before.
  std::vector<Change> changes(const Change& before, const Node* loop) {
    std::vector<Change> found;
    if (parts_.options().splitting && is_asked(loop))
      found.push_back(before.cutting(loop->loop_id));
    if (!parts_.options().unrolling) return found;
    const int64_t commands = commands_of(*loop->body);
    const int64_t extent = loop->extent->value;
    std::vector<int64_t> tried;
    for (const int64_t iterations : {extent, int64_t{2}, int64_t{1}}) {
      const bool fits = iterations == 1 || saturated_product(iterations, commands) <= kMostCommands;
      if (!fits || std::find(tried.begin(), tried.end(), iterations) != tried.end()) continue;
      tried.push_back(iterations);
      if (!parts_.is_joined(before, loop->loop_id, iterations)) {
        found.push_back(before.joining(loop->loop_id, iterations));
      }
    }
    return found;
  }

  Found best_;
  Parts& parts_;
  const HostModel& host_;
  std::map<Change, Found> tried_;
};

}  // namespace

const Body* within_budget(const Body* found, Parts& parts, const HostModel& host) {
  if (commands_of(*found) > kMostCounted) return found;
  Search search(parts, host, found);
  search.leave_loops();
  if (search.best().excess() > 0 && search.best().asked.loop_bytes <= kHopelessLoopBytes) {
    const auto time_saved = [&](const Found& before, const Found& after) {
      return search.time_saved(before, after);
    };
    const Runs runs(*parts.body());
    const std::vector<const Node*> loops = runs.heaviest(kLeastShare);
    for (const Node* loop : loops) search.change({loop}, time_saved);  // what pays for its code
    search.change(loops, instructions_saved);                   // the little that may be left
    for (const Node* loop : runs.heaviest(kLeastShareAtAll)) {  // whatever it takes
      search.change({loop}, instructions_saved);
    }
  }
  return search.best().body;
}

}  // namespace npu::rewrite
