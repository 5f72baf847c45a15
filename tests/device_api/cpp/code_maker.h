// Programs made of nodes, and how many instructions the host's code of them has.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "host.h"
#include "sim/host_code.h"
#include "sim/program.h"

namespace npu::sim::testing {

inline constexpr int64_t kRegisters = 26;

// Programs made of nodes; loop variables are slots 0 to 7.
class Maker {
 public:
  explicit Maker(int64_t registers = kRegisters) {
    program_.host = host();
    program_.host.host_registers = registers;
    program_.slot_count = 8;
    program_.arguments.resize(2);
    for (uint32_t slot = 0; slot < 8; ++slot) expr({Op::kVar, 0, slot});
  }
  uint32_t expr(ExprNode node) {
    program_.exprs.nodes.push_back(node);
    const auto index = static_cast<uint32_t>(program_.exprs.nodes.size() - 1);
    program_.exprs.prepare_root(index);
    return index;
  }
  int32_t shifted(ArgumentAddress address) {
    program_.shifted_addresses.push_back(address);
    return static_cast<int32_t>(program_.arguments.size() + program_.shifted_addresses.size()) - 1;
  }
  uint32_t number(int64_t value) { return expr({Op::kConst, value}); }
  uint32_t apply(Op op, uint32_t a, uint32_t b) { return expr({op, 0, 0, {a, b}}); }
  uint32_t entry(uint32_t index, const std::vector<int64_t>& words) {
    const auto first = static_cast<uint32_t>(program_.exprs.words.size());
    program_.exprs.words.insert(program_.exprs.words.end(), words.begin(), words.end());
    return expr({Op::kTable, 0, first, {index}, static_cast<uint32_t>(words.size())});
  }
  Node loop(uint32_t slot, int64_t extent, std::vector<Node> body) {
    return loop_of(slot, number(extent), std::move(body));
  }
  static Node loop_of(uint32_t slot, uint32_t extent, std::vector<Node> body) {
    Node node;
    node.kind = Node::Kind::kLoop;
    node.slot = slot;
    node.extent = extent;
    node.body = std::move(body);
    return node;
  }
  // Instructions of each step: commands, and entry and end of each loop, the program's end left
  // out.
  std::vector<uint32_t> steps(std::vector<Node> body) {
    std::vector<uint32_t> found;
    for (const HostStep& step : code(std::move(body)).steps) found.push_back(step.instructions);
    found.pop_back();
    return found;
  }
  HostCode code(std::vector<Node> body) { return HostCode(program(std::move(body))); }
  Program program(std::vector<Node> body) {
    program_.body = std::move(body);
    return program_;
  }
  HostConfig& host_config() { return program_.host; }

 private:
  Program program_;
};

inline Operand word(uint64_t base, std::vector<Operand::Step> steps = {}, int32_t address = -1) {
  Operand operand;
  operand.base = base;
  operand.address = address;
  operand.steps = std::move(steps);
  return operand;
}
inline Operand general(Operand operand, uint64_t coefficient, uint32_t expr) {
  operand.general.push_back({coefficient, expr});
  return operand;
}
inline Node command(Operand rs1, Operand rs2 = Operand()) {
  Node node;
  node.rs1 = std::move(rs1);
  node.rs2 = std::move(rs2);
  return node;
}

using Counts = std::vector<uint32_t>;

}  // namespace npu::sim::testing
