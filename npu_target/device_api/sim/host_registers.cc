#include "sim/host_registers.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/host_sections.h"

namespace npu::sim {
namespace {

// Derived in each turn of the scope, and not for the next one.
bool is_brief(const HostWord& word, const HostUses& uses) {
  return word.family >= 0 && uses.begins && !uses.runs;
}

uint32_t first_step(const HostUses& uses) { return uses.steps.front().first; }
uint32_t last_step(const HostUses& uses) { return uses.steps.back().first; }

// The most that live at once of words that live from their first use to their last.
size_t most_at_once(const std::vector<const HostUses*>& words) {
  std::vector<std::pair<uint32_t, int>> changes;  // those that end before those that begin
  changes.reserve(2 * words.size());
  for (const HostUses* uses : words) {
    changes.emplace_back(first_step(*uses), 1);
    changes.emplace_back(last_step(*uses) + 1, -1);
  }
  std::sort(changes.begin(), changes.end());
  int live = 0;
  int most = 0;
  for (const auto& [step, change] : changes) most = std::max(most, live += change);
  return static_cast<size_t>(most);
}

// A word that memory may hold.
struct Candidate {
  uint32_t accesses;  // that it takes then
  uint32_t number;    // in the order of words
  HostWords::iterator word;

  bool operator<(const Candidate& other) const {
    return std::tie(accesses, number) < std::tie(other.accesses, other.number);
  }
};

// Calls visit(is_in) for each of some words, in their order: whether a loop has it.
template <typename Visit>
void find_in(const HostWords& words, const std::vector<Candidate>& candidates, const Visit& visit) {
  auto at = words.begin();
  for (const Candidate& candidate : candidates) {
    const HostWord& word = candidate.word->first;
    while (at != words.end() && at->first < word) ++at;
    visit(at != words.end() && !(word < at->first));
  }
}

}  // namespace

HostRegisters::HostRegisters(std::vector<HostScope>& scopes, size_t registers, Add add)
    : scopes_(scopes), registers_(registers), add_(std::move(add)), loops_(scopes.size()) {
  find_homes();
  for (size_t i = scopes_.size(); i-- > 0;) {
    const int index = static_cast<int>(i);
    const HostScope& scope = scopes_[i];
    if (scope.parent != kNoScope && !scope.is_loop) {
      join(scope, index);
      continue;
    }
    fit(index);
    if (scope.parent != kNoScope) {
      pass_out(scope, index);
      continue;
    }
    needed = std::max(needed, loops_[i].needed);
    for (const auto& [word, uses] : scope.words) {
      if (word.family == HostWord::kConstant) make(word.value, index);
    }
  }
}

void HostRegisters::find_homes() {
  std::map<uint32_t, int> sections;  // by their entries
  for (size_t i = 0; i < scopes_.size(); ++i) {
    const int index = static_cast<int>(i);
    const int parent = scopes_[i].parent;
    outermost_.push_back(parent == kNoScope ? index : outermost_[static_cast<size_t>(parent)]);
    if (scopes_[i].section == index) sections[scopes_[i].entry] = index;
  }
  if (sections.empty()) return;
  const auto section_at = [&](const HostScope& scope, uint32_t step) {
    const auto found = sections.find(step);
    return found == sections.end() ? scope.section : found->second;
  };
  for (size_t i = 0; i < scopes_.size(); ++i) {
    for (const auto& [word, uses] : scopes_[i].words) {
      if (word.family != HostWord::kConstant) continue;
      if (uses.steps.empty()) continue;
      const auto [home, is_first] = home_.try_emplace(
          {outermost_[i], word.value}, section_at(scopes_[i], uses.steps.front().first));
      for (const auto& [step, accesses] : uses.steps) {
        home->second = common_section(scopes_, home->second, section_at(scopes_[i], step));
      }
    }
  }
  // What a section needs when it is entered only is made for that.
  for (size_t i = 0; i < scopes_.size(); ++i) {
    auto& words = scopes_[i].words;
    for (auto at = words.begin(); at != words.end();) {
      auto& [word, uses] = *at;
      if (word.family == HostWord::kConstant) {
        const int home = home_of(word.value, static_cast<int>(i));
        const auto is_entry = [&](const std::pair<uint32_t, uint32_t>& use) {
          return home != kNoScope && use.first == scopes_[static_cast<size_t>(home)].entry;
        };
        const auto left = std::remove_if(uses.steps.begin(), uses.steps.end(), is_entry);
        if (left != uses.steps.end()) make(word.value, static_cast<int>(i));
        uses.steps.erase(left, uses.steps.end());
        if (uses.steps.empty()) {
          at = words.erase(at);
          continue;
        }
      }
      ++at;
    }
  }
}

int HostRegisters::home_of(const KnownValue& value, int index) const {
  const auto found = home_.find({outermost_[static_cast<size_t>(index)], value});
  return found == home_.end() ? kNoScope : found->second;
}

// A constant that a scope's code needs, before all loops or before its section.
void HostRegisters::make(const KnownValue& value, int index) {
  const int home = home_of(value, index);
  const int before = home == kNoScope ? outermost_[static_cast<size_t>(index)] : home;
  const uint32_t entry = scopes_[static_cast<size_t>(before)].entry;
  constants.push_back({entry, StraightUse::Kind::kConstant, value, 0, home});
}

// A condition is a part of what is around it.
void HostRegisters::join(const HostScope& condition, int index) {
  const auto outside = static_cast<size_t>(condition.parent);
  for (const auto& [word, uses] : condition.words) {
    if (uses.begins) continue;
    HostUses& all = scopes_[outside].words[word];
    for (const auto& [step, accesses] : uses.steps) all.add(step, accesses);
  }
  const std::vector<int>& inside = loops_[static_cast<size_t>(index)].inside;
  std::vector<int>& loops = loops_[outside].inside;
  loops.insert(loops.end(), inside.begin(), inside.end());
}

// What a loop has in registers and does not begin is loaded before it, if it is not there.
void HostRegisters::pass_out(const HostScope& scope, int index) {
  const auto outside = static_cast<size_t>(scope.parent);
  for (const auto& [word, uses] : scope.words) {
    if (word.family == HostWord::kConstant && home_of(word.value, index) == index) {
      make(word.value, index);
    } else if (!uses.begins) {
      scopes_[outside].words[word].add(scope.entry, uses.runs ? 2 : 1);
    }
  }
  loops_[outside].inside.push_back(index);
}

void HostRegisters::fit(int index) {
  HostScope& scope = scopes_[static_cast<size_t>(index)];
  Loop& loop = loops_[static_cast<size_t>(index)];
  std::vector<Candidate> cheapest;
  std::vector<const HostUses*> brief;
  cheapest.reserve(scope.words.size());
  for (auto at = scope.words.begin(); at != scope.words.end(); ++at) {
    const auto& [word, uses] = *at;
    if (uses.steps.empty()) continue;
    if (is_brief(word, uses)) {
      brief.push_back(&uses);
      continue;
    }
    uint32_t accesses = 0;
    for (const auto& [step, count] : uses.steps) accesses += count;
    cheapest.push_back({accesses, static_cast<uint32_t>(cheapest.size()), at});
  }
  size_t live = cheapest.size() + most_at_once(brief);
  size_t most = live;
  const size_t words = cheapest.size();
  std::vector<uint8_t> is_in;   // by loop inside, and by the word's number
  std::vector<size_t> live_in;  // the loops inside
  is_in.reserve(loop.inside.size() * words);
  live_in.reserve(loop.inside.size());
  for (const int inside : loop.inside) {
    const auto inner = static_cast<size_t>(inside);
    const uint32_t entry = scopes_[inner].entry;
    size_t count = loops_[inner].needed;
    find_in(scopes_[inner].words, cheapest, [&](bool is_there) {
      is_in.push_back(is_there ? 1 : 0);
      count += is_there ? 0 : 1;
    });
    for (const HostUses* uses : brief) {
      count += first_step(*uses) < entry && last_step(*uses) > entry ? 1 : 0;
    }
    live_in.push_back(count);
    most = std::max(most, count);
  }
  loop.needed = most;
  if (most <= registers_) return;
  std::sort(cheapest.begin(), cheapest.end());
  for (const Candidate& candidate : cheapest) {
    bool is_too_much = live > registers_;
    for (size_t k = 0; k < live_in.size(); ++k) {
      is_too_much |= live_in[k] > registers_ && is_in[k * words + candidate.number] == 0;
    }
    if (!is_too_much) continue;
    for (size_t k = 0; k < live_in.size(); ++k) {
      live_in[k] -= is_in[k * words + candidate.number] != 0 ? 0 : 1;
    }
    --live;
    put_in_memory(index, candidate.word);
  }
  loop.needed = live;
  for (const size_t count : live_in) loop.needed = std::max(loop.needed, count);
}

// A constant is made and stored once, before all loops or its section, what begins in the scope
// each time.
void HostRegisters::put_in_memory(int index, HostWords::iterator at) {
  HostScope& scope = scopes_[static_cast<size_t>(index)];
  const auto& [word, uses] = *at;
  if (word.family == HostWord::kConstant) {
    make(word.value, index);
    add_(constants.back().step, 1);
  }
  if (uses.begins) add_(scope.entry, 1);
  for (const auto& [step, accesses] : uses.steps) add_(step, accesses);
  scope.words.erase(at);
}

}  // namespace npu::sim
