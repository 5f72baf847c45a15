// Sums of general expressions that several operands have, made once.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rewrite/nodes.h"

namespace npu::rewrite {

// Makes a sum that operands have which run differently one expression, so that each of them adds it
// in one instruction instead of multiplying and adding every term. Keeps what it found in nodes.
class SumSharer {
 public:
  explicit SumSharer(Nodes& nodes) : nodes_(nodes) {}

  // The same commands.
  const Body* shared(const Body* body);

 private:
  // The terms of a sum alone, and what operands are without them: equal ones are one object.
  using User = std::pair<const Operand*, const Operand*>;
  using Users = std::set<User>;
  using Around = std::vector<uint32_t>;  // ids of loops, outermost first
  using Terms = Operand::Terms;
  using Often = std::unordered_map<const Operand*, const Expr*>;

  const Users& users(const Body* body, Around& around);
  void add_users(const Operand& operand, const Around& around, Users& users);
  // Terms, those together that are made in the same loop.
  static std::vector<Terms> by_loop(const Terms& general, const Around& around);
  static int64_t depth(const Expr* expr, const Around& around);
  const Operand* interned(Terms terms) { return nodes_.operand({0, -1, {}, std::move(terms)}); }
  const Body* shared(const Body* body, Around& around, const Often& often);
  const Operand* shared(const Operand* operand, const Around& around, const Often& often);
  const Expr* total(const Terms& terms);

  Nodes& nodes_;
  std::map<Around, std::unordered_map<const Body*, Users>> users_;
};

}  // namespace npu::rewrite
