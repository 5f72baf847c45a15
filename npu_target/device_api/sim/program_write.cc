#include "sim/program_write.h"

#include <cstddef>

namespace npu::sim {
namespace {

class Writer {
 public:
  explicit Writer(const Program& program) : program_(program) {}

  std::string code() {
    append<uint32_t>(program_.exprs.nodes.size());
    for (const ExprNode& node : program_.exprs.nodes) append_expr(node);
    append_body(program_.body);
    return std::move(bytes_);
  }

 private:
  template <typename T>
  void append(uint64_t value) {
    char bytes[sizeof(T)];
    for (size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<char>(value >> (8 * i) & 0xFF);
    bytes_.append(bytes, sizeof(T));
  }

  void append_expr(const ExprNode& node) {
    append<uint8_t>(static_cast<uint8_t>(node.op));
    if (node.op == Op::kConst) append<uint64_t>(static_cast<uint64_t>(node.value));
    if (node.op == Op::kVar) append<uint32_t>(program_.loop_ids[node.slot]);
    for (int k = 0; k < input_count(node.op); ++k) append<uint32_t>(node.inputs[k]);
    if (node.op != Op::kTable) return;
    append<uint32_t>(node.count);
    for (uint32_t i = 0; i < node.count; ++i) {
      append<uint64_t>(static_cast<uint64_t>(program_.exprs.words[node.slot + i]));
    }
  }

  void append_body(const std::vector<Node>& body) {
    append<uint32_t>(body.size());
    for (const Node& node : body) {
      append<uint8_t>(static_cast<uint8_t>(node.kind));
      if (node.kind == Node::Kind::kCommand) {
        append<uint8_t>(node.funct);
        append_operand(node.rs1);
        append_operand(node.rs2);
      } else {
        append<uint32_t>(program_.loop_ids[node.slot]);
        append<uint32_t>(node.extent);
        append_body(node.body);
      }
    }
  }

  void append_operand(const Operand& operand) {
    append<uint64_t>(operand.base);
    const ArgumentAddress address =
        operand.address < 0 ? ArgumentAddress{0xFFFF} : program_.address(operand.address);
    append<uint16_t>(address.argument);
    append<uint8_t>(address.unit);
    append<uint8_t>(address.low_bit);
    append<uint32_t>(operand.steps.size());
    for (const Operand::Step& step : operand.steps) {
      append<uint32_t>(program_.loop_ids[step.slot]);
      append<uint64_t>(step.increment);
    }
    append<uint32_t>(operand.general.size());
    for (const Operand::General& term : operand.general) {
      append<uint64_t>(term.coefficient);
      append<uint32_t>(term.expr);
    }
  }

  const Program& program_;
  std::string bytes_;
};

}  // namespace

std::string code_bytes(const Program& program) { return Writer(program).code(); }

}  // namespace npu::sim
