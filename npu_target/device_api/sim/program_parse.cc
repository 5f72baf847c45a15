#include "sim/program_parse.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/byte_reader.h"
#include "sim/device_kind.h"

namespace npu::sim {
namespace {

// Bytes of an element, 0 for a dtype no kernel takes.
uint64_t element_bytes(const std::string& dtype) {
  static const std::map<std::string, uint64_t> kBytes = {
      {"int8", 1},   {"uint8", 1}, {"bool", 1},   {"int16", 2},   {"uint16", 2},  {"int32", 4},
      {"uint32", 4}, {"int64", 8}, {"uint64", 8}, {"float16", 2}, {"float32", 4}, {"float64", 8},
  };
  const auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

class Parser {
 public:
  explicit Parser(std::string_view payload) : in_(payload, "program") {}

  Program parse() {
    program_.name = in_.text();
    read_config();
    read_arguments();
    read_exprs();
    program_.body = read_body(0);
    if (in_.remaining() != 0) {
      in_.fail("needs the end of the program, has " + std::to_string(in_.remaining()) + " B more");
    }
    program_.slot_count = static_cast<uint32_t>(slots_.size());
    program_.loop_ids = std::move(loop_ids_);
    return std::move(program_);
  }

 private:
  void read_config() {
    program_.kind = in_.text();
    program_.config_name = in_.text();
    const uint32_t fields = in_.count(12);
    for (uint32_t i = 0; i < fields; ++i) {
      std::string key = in_.text();
      program_.numbers.emplace_back(std::move(key), in_.i64());
    }
    if (const DeviceKind* kind = find_kind(program_.kind)) kind->check(program_.numbers);
    program_.host = HostConfig::from_pairs(program_.numbers);
  }

  void read_arguments() {
    const uint32_t count = in_.count(13);
    for (uint32_t i = 0; i < count; ++i) {
      Argument argument;
      argument.name = in_.text();
      const uint8_t role = in_.u8();
      if (role == kConstantRole) {
        const std::string_view data = in_.take(in_.u32());
        argument.is_constant = true;
        argument.bytes = data.size();
        argument.data.assign(data.begin(), data.end());
        add_argument(std::move(argument));
        continue;
      }
      if (role > 1) in_.fail("needs role 0 (input) or 1 (output), has " + std::to_string(role));
      if (program_.tensors() != i) in_.fail("needs constants behind all arguments");
      argument.is_output = role == 1;
      argument.dtype = in_.text();
      argument.bytes = element_bytes(argument.dtype);
      if (argument.bytes == 0) in_.fail("needs a known dtype, has '" + argument.dtype + "'");
      const uint32_t dimensions = in_.count(8);
      for (uint32_t d = 0; d < dimensions; ++d) {
        argument.shape.push_back(in_.u64());
        if (__builtin_mul_overflow(argument.bytes, argument.shape.back(), &argument.bytes) ||
            argument.bytes > kMaxArgumentBytes) {
          in_.fail("needs arguments of at most " + std::to_string(kMaxArgumentBytes) + " B, '" +
                   argument.name + "' has more");
        }
      }
      add_argument(std::move(argument));
    }
  }

  void add_argument(Argument argument) {
    for (const Argument& other : program_.arguments) {
      if (other.name == argument.name) {
        in_.fail("needs distinct argument names, has '" + other.name + "' twice");
      }
    }
    program_.arguments.push_back(std::move(argument));
  }

  void read_exprs() {
    const uint32_t count = in_.count(5);
    std::vector<ExprNode>& nodes = program_.exprs.nodes;
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t code = in_.u8();
      if (code > static_cast<uint8_t>(Op::kTable)) {
        in_.fail("needs a known operation, has " + std::to_string(code));
      }
      ExprNode node;
      node.op = static_cast<Op>(code);
      if (node.op == Op::kConst) {
        node.value = in_.i64();
      } else if (node.op == Op::kVar) {
        node.slot = slot_of(in_.u32());
      }
      for (int k = 0; k < input_count(node.op); ++k) {
        node.inputs[k] = in_.u32();
        if (node.inputs[k] >= i) {
          in_.fail("needs inputs before expression " + std::to_string(i) + ", has " +
                   std::to_string(node.inputs[k]));
        }
      }
      if (node.op == Op::kTable) read_words(node);
      nodes.push_back(node);
    }
  }

  void read_words(ExprNode& node) {
    std::vector<int64_t>& words = program_.exprs.words;
    node.count = in_.count(8);
    node.slot = static_cast<uint32_t>(words.size());
    if (node.count == 0) in_.fail("needs a table of words, has none");
    for (uint32_t i = 0; i < node.count; ++i) words.push_back(in_.i64());
  }

  std::vector<Node> read_body(int depth) {
    if (depth > Program::kMaxDepth) {
      in_.fail("needs loops at most " + std::to_string(Program::kMaxDepth) + " deep, has more");
    }
    std::vector<Node> body;
    const uint32_t count = in_.count(9);
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t kind = in_.u8();
      switch (static_cast<Node::Kind>(kind)) {
        case Node::Kind::kLoop:
          body.push_back(read_loop(depth));
          break;
        case Node::Kind::kCommand:
          body.push_back(read_command());
          break;
        default:
          in_.fail("needs node kind 1 (loop) or 2 (command), has " + std::to_string(kind));
      }
    }
    return body;
  }

  Node read_loop(int depth) {
    Node node;
    node.kind = Node::Kind::kLoop;
    const uint32_t loop_id = in_.u32();
    node.slot = slot_of(loop_id);
    node.extent = read_expr_index();
    if (is_in_scope(node.slot)) {
      in_.fail("needs loop ids that are unique along a path, has " + std::to_string(loop_id) +
               " inside itself");
    }
    scope_.push_back(node.slot);
    node.body = read_body(depth + 1);
    scope_.pop_back();
    return node;
  }

  Node read_command() {
    Node node;
    node.funct = in_.u8();
    node.rs1 = read_operand();
    node.rs2 = read_operand();
    return node;
  }

  Operand read_operand() {
    Operand operand;
    operand.base = in_.u64();
    operand.address = read_address();
    const uint32_t steps = in_.count(12);
    for (uint32_t i = 0; i < steps; ++i) {
      const uint32_t loop_id = in_.u32();
      const uint32_t slot = slot_of(loop_id);
      if (!is_in_scope(slot)) fail_unbound(loop_id);
      operand.steps.push_back({slot, in_.u64()});
    }
    const uint32_t general = in_.count(12);
    for (uint32_t i = 0; i < general; ++i) {
      const uint64_t coefficient = in_.u64();
      operand.general.push_back({coefficient, read_expr_index()});
    }
    return operand;
  }

  int32_t read_address() {
    ArgumentAddress address;
    address.argument = in_.u16();
    address.unit = in_.u8();
    address.low_bit = in_.u8();
    if (address == kNoAddress) return -1;
    if (address.argument >= program_.arguments.size()) {
      in_.fail("needs an argument index below " + std::to_string(program_.arguments.size()) +
               ", or none, has " + std::to_string(address.argument));
    }
    if (address.unit > ArgumentAddress::kMaxUnit || address.low_bit > 63) {
      in_.fail("needs an address in units of at most 2^" +
               std::to_string(ArgumentAddress::kMaxUnit) +
               " bytes and from a bit of the word on, has 2^" + std::to_string(address.unit) +
               " from bit " + std::to_string(address.low_bit) + " on");
    }
    if (address == ArgumentAddress{address.argument}) return static_cast<int32_t>(address.argument);
    std::vector<ArgumentAddress>& shifted = program_.shifted_addresses;
    const auto known = std::find(shifted.begin(), shifted.end(), address);
    const auto index = known - shifted.begin();
    if (known == shifted.end()) shifted.push_back(address);
    return static_cast<int32_t>(program_.arguments.size()) + static_cast<int32_t>(index);
  }

  uint32_t read_expr_index() {
    const uint32_t index = in_.u32();
    ExprTable& exprs = program_.exprs;
    if (index >= exprs.nodes.size()) {
      in_.fail("needs an expression index below " + std::to_string(exprs.nodes.size()) + ", has " +
               std::to_string(index));
    }
    exprs.prepare_root(index);
    for (const uint32_t node : exprs.nodes_of(index)) {
      if (exprs.nodes[node].op == Op::kVar && !is_in_scope(exprs.nodes[node].slot)) {
        fail_unbound(loop_ids_[exprs.nodes[node].slot]);
      }
    }
    return index;
  }

  uint32_t slot_of(uint32_t loop_id) {
    const auto [entry, is_new] = slots_.try_emplace(loop_id, static_cast<uint32_t>(slots_.size()));
    if (is_new) loop_ids_.push_back(loop_id);
    return entry->second;
  }

  bool is_in_scope(uint32_t slot) const {
    return std::find(scope_.begin(), scope_.end(), slot) != scope_.end();
  }

  [[noreturn]] void fail_unbound(uint32_t loop_id) const {
    in_.fail("needs loop variables of enclosing loops, has that of loop " +
             std::to_string(loop_id));
  }

  static constexpr uint8_t kConstantRole = 2;
  static constexpr ArgumentAddress kNoAddress = {0xFFFF, 0, 0};
  static constexpr uint64_t kMaxArgumentBytes = uint64_t{1} << 40;

  ByteReader in_;
  Program program_;
  std::map<uint32_t, uint32_t> slots_;  // by loop id
  std::vector<uint32_t> loop_ids_;      // by slot
  std::vector<uint32_t> scope_;         // slots of the enclosing loops
};

}  // namespace

Program parse_payload(std::string_view payload) { return Parser(payload).parse(); }

}  // namespace npu::sim
