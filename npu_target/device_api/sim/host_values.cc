#include "sim/host_values.h"

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <set>

#include "sim/load_immediate.h"

namespace npu::sim {
namespace {

// On the stack, for what is found out of a family.
constexpr size_t kBufferBytes = 4096;

int home_of(const HostValue& value) {
  int home = kNoScope;
  for (const auto& step : value.steps) home = std::max(home, step.scope);
  for (const auto& term : value.terms) home = std::max(home, term.scope);
  return home;
}

// Of all but the offset.
uint64_t hash_of(const HostValue& value) {
  constexpr uint64_t kPrime = UINT64_C(0x9E3779B97F4A7C15);
  auto hash = static_cast<uint64_t>(value.base.address);
  const auto mix = [&hash](uint64_t part) { hash = (hash ^ part ^ hash >> 29) * kPrime; };
  for (const auto& [scope, increment] : value.steps) {
    mix(static_cast<uint64_t>(scope));
    mix(increment);
  }
  for (const auto& [scope, coefficient, expr] : value.terms) {
    mix(coefficient);
    mix(expr);
  }
  return hash;
}

}  // namespace

uint32_t HostValues::step_in(int home, int scope, uint32_t step) const {
  for (; scope != home; scope = scopes_[scope].parent) step = scopes_[scope].entry;
  return step;
}

void HostValues::use_constant(const KnownValue& value, int scope, uint32_t step) {
  if (value == KnownValue()) return;
  if (scope == kNoScope) {
    straight.push_back({step, StraightUse::Kind::kOperand, value});
  } else {
    scopes_[scope].words[{HostWord::kConstant, value}].add(step, 1);
  }
}

// Instructions to add coefficient x expression: by 1 and -1 nothing is multiplied, a power of two
// is a shift, any other coefficient needs a register.
uint32_t HostValues::add_term(const HostValue::Term& term, int scope, uint32_t step) {
  const uint64_t coefficient = term.coefficient;
  if (coefficient == 1 || coefficient == UINT64_MAX) return 1;
  if (!is_power_of_two(coefficient)) use_constant({-1, coefficient}, scope, step);
  return 2;
}

void HostValues::use(const HostValue& value, int scope, uint32_t step) {
  const int home = home_of(value);
  if (home == kNoScope) {  // terms without variables are made where they are used
    for (const auto& term : value.terms) add_(step, add_term(term, scope, step));
    use_constant(value.base, scope, step);
    return;
  }
  bool is_conditional = false;
  for (int inner = scope; inner != home; inner = scopes_[inner].parent) {
    is_conditional = is_conditional || !scopes_[inner].is_fixed();
  }
  family_of(value, home)
      .uses.push_back({scope, step, step_in(home, scope, step), value.base.offset, is_conditional});
}

HostValues::Family& HostValues::family_of(const HostValue& value, int home) {
  const uint64_t hash = hash_of(value);
  for (auto [found, end] = by_hash_.equal_range(hash); found != end; ++found) {
    const HostValue& known = found->second->value;
    if (known.base.address == value.base.address && known.steps == value.steps &&
        known.terms == value.terms) {
      return *found->second;
    }
  }
  const auto number = static_cast<int>(families_.size());
  std::pmr::vector<Use> uses(families_.get_allocator().resource());
  Family& made = families_.emplace_back(Family{number, value, home, std::move(uses)});
  made.value.base.offset = 0;
  by_hash_.emplace(hash, &made);
  order_[{scopes_[home].depth, value.terms.size()}].push_back(&made);
  return made;
}

void HostValues::finish() {
  while (!order_.empty()) {
    const auto last = std::prev(order_.end());
    const std::pmr::vector<Family*> families = std::move(last->second);
    order_.erase(last);
    // Whatever it begins from is another one, and may be new.
    for (Family* family : families) finish(*family);
  }
}

void HostValues::finish(Family& family) {
  const auto is_before = [](const Use& a, const Use& b) { return a.step < b.step; };
  if (!std::is_sorted(family.uses.begin(), family.uses.end(), is_before)) {
    std::stable_sort(family.uses.begin(), family.uses.end(), is_before);
  }
  const uint64_t moved = derive(family);
  int first_depth = 1;  // of the scopes in which one register runs without beginning anew
  for (int scope = family.home; scope != kNoScope; scope = scopes_[scope].parent) {
    if (!scopes_[scope].is_fixed()) first_depth = std::max(first_depth, scopes_[scope].depth);
  }
  if (!family.value.terms.empty()) {
    const int scope = family.value.terms[0].scope;
    if (scope != kNoScope) first_depth = std::max(first_depth, scopes_[scope].depth + 1);
  }
  // What a section alone moves begins anew before it.
  if (!family.value.steps.empty()) {
    const int section = scopes_[family.value.steps[0].scope].section;
    if (section != kNoScope) first_depth = std::max(first_depth, scopes_[section].depth);
  }
  advance(family, first_depth, moved);
  begin(family, first_depth);
}

// Whether one register cannot go from value to value: one is used again after another, two are used
// by one command or in one inner loop, or a use may be left out.
bool HostValues::comes_back(const Family& family) const {
  std::byte buffer[kBufferBytes];
  std::pmr::monotonic_buffer_resource memory(buffer, sizeof buffer);
  std::pmr::set<uint64_t> seen(&memory);
  const Use* before = nullptr;
  for (const Use& use : family.uses) {
    if (before == nullptr || use.offset != before->offset) {
      if (!seen.insert(use.offset).second) return true;
      if (before != nullptr && use.item == before->item) return true;
    }
    before = &use;
  }
  return seen.size() > 1 && std::any_of(family.uses.begin(), family.uses.end(),
                                        [](const Use& use) { return use.is_conditional; });
}

// The innermost place before all of these uses, in the family's home or in conditions of it: what
// only a condition needs is made there.
HostValues::Place HostValues::place_of(const Family& family,
                                       const std::pmr::vector<const Use*>& uses) const {
  int scope = uses.front()->scope;
  for (const Use* use : uses) {
    int other = use->scope;
    while (scope != other) {
      int& inner = scope > other ? scope : other;
      inner = scopes_[inner].parent;
    }
  }
  for (int around = scope; around != family.home; around = scopes_[around].parent) {
    if (scopes_[around].is_loop) scope = scopes_[around].parent;
  }
  return {scope, step_in(scope, uses.front()->scope, uses.front()->step)};
}

HostWord HostValues::word_of(const Family& family, uint64_t offset) const {
  return {family.number, {-1, offset}};
}

// Charges the values after the first. Returns how far the register moves by that.
uint64_t HostValues::derive(const Family& family) {
  if (!comes_back(family)) return move_on(family);
  derive_from_first(family);
  return 0;
}

// One register goes from value to value.
uint64_t HostValues::move_on(const Family& family) {
  const uint64_t first = family.uses.front().offset;
  const HostWord word = word_of(family, first);
  uint64_t at = first;
  for (const Use& use : family.uses) {
    if (use.offset != at) {
      const uint64_t distance = use.offset - at;
      add_(use.item, 1);
      if (!fits_addition(distance)) use_constant({-1, distance}, family.home, use.item);
      scopes_[family.home].words[word].add(use.item, 2);
      at = use.offset;
    }
    scopes_[use.scope].words[word].add(use.step, 1);
  }
  return at - first;
}

void HostValues::derive_from_first(const Family& family) {
  const uint64_t first = family.uses.front().offset;
  std::byte buffer[kBufferBytes];
  std::pmr::monotonic_buffer_resource memory(buffer, sizeof buffer);
  std::pmr::map<uint64_t, std::pmr::vector<const Use*>> uses_of(&memory);
  for (const Use& use : family.uses) uses_of[use.offset].push_back(&use);
  for (const auto& [offset, uses] : uses_of) {
    const HostWord word = word_of(family, offset);
    if (offset != first) {
      const Place place = place_of(family, uses);
      const uint64_t distance = offset - first;
      add_(place.step, 1);
      if (!fits_addition(distance)) use_constant({-1, distance}, place.scope, place.step);
      HostUses& made = scopes_[place.scope].words[word];
      made.begins = true;
      made.add(place.step, 1);
    }
    for (const Use* use : uses) scopes_[use->scope].words[word].add(use->step, 1);
  }
}

// Charges the additions at the ends of the bodies around. The loop inside has advanced the register
// in its last iteration, too: there it stands when the body of the one outside ends.
void HostValues::advance(const Family& family, int first_depth, uint64_t moved) {
  for (int index = family.home; index != kNoScope; index = scopes_[index].parent) {
    HostScope& scope = scopes_[index];
    if (scope.depth < first_depth || !scope.is_loop) break;
    uint64_t increment = 0;
    for (const auto& step : family.value.steps) {
      if (step.scope == index) increment = step.increment;
    }
    const uint64_t delta = increment - moved;
    HostUses& uses = scope.words[word_of(family, family.uses.front().offset)];
    uses.runs = true;
    if (delta != 0) {
      add_(scope.bottom, 1);
      uses.add(scope.bottom, 2);
    }
    if (!fits_addition(delta)) use_constant({-1, delta}, index, scope.bottom);
    moved = increment * scope.extent;
    if (increment != 0) scope.ends.push_back(moved);
  }
}

// Charges how the register gets the value that it runs on from, which may itself be running.
void HostValues::begin(const Family& family, int first_depth) {
  const Use& first = family.uses.front();
  int outermost = family.home;  // inside which it runs
  int scope = family.home;
  Place place = {scope, first.item};
  for (; scope != kNoScope && scopes_[scope].depth >= first_depth; scope = scopes_[scope].parent) {
    outermost = scope;
    place = {scopes_[scope].parent, scopes_[scope].entry};
  }
  const HostWord word = word_of(family, first.offset);
  if (scope == family.home) {  // made in each turn, and does not run
    std::pmr::vector<const Use*> uses;
    for (const Use& use : family.uses) uses.push_back(&use);
    place = place_of(family, uses);
    scopes_[place.scope].words[word].add(place.step, 1);
    outermost = place.scope;
  }
  scopes_[outermost].words[word].begins = true;
  HostValue from = family.value;
  from.base.offset = first.offset;
  from.steps.erase(std::remove_if(from.steps.begin(), from.steps.end(),
                                  [&](const HostValue::Step& s) { return s.scope > scope; }),
                   from.steps.end());
  const auto is_of_scope = [&](const HostValue::Term& term) { return term.scope == scope; };
  const auto inner = std::find_if_not(from.terms.begin(), from.terms.end(), is_of_scope);
  const bool is_fixed = from.steps.empty() && from.terms.empty() && scopes_[outermost].is_fixed();
  if (is_fixed && scopes_[outermost].section == outermost) {
    straight.push_back({place.step, StraightUse::Kind::kRunning, from.base, 0, outermost});
  } else if (scope != kNoScope && inner != from.terms.begin()) {
    uint32_t operations = 0;
    for (auto term = from.terms.begin(); term != inner; ++term) {
      operations += add_term(*term, place.scope, place.step);
    }
    from.terms.erase(from.terms.begin(), inner);
    const bool is_all = from.base == KnownValue() && from.steps.empty() && from.terms.empty();
    add_(place.step, operations - (is_all ? 1 : 0));  // nothing to add the first term to
    if (!is_all) use(from, place.scope, place.step);
  } else if (scope != kNoScope) {
    add_(place.step, 1);  // a move
    use(from, place.scope, place.step);
  } else if (!scopes_[outermost].is_fixed() || !from.terms.empty()) {
    add_(place.step, 1);
    use(from, kNoScope, place.step);
  } else {
    uint64_t distance = 0;
    for (const auto& s : family.value.steps) {
      if (s.scope == outermost) distance = s.increment * scopes_[outermost].extent;
    }
    straight.push_back({place.step, StraightUse::Kind::kRunning, from.base, distance});
  }
}

}  // namespace npu::sim
