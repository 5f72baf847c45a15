#include "vta/simulator/functional.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace npu::vta {
namespace {

using sim::ErrorKind;

// Addresses of the bus have 32 bits.
constexpr int64_t kAddressEnd = int64_t{1} << 32;

// Sums and products wrap around, as the hardware's do.
int32_t add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
int32_t multiply(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

// One command that runs.
struct Runner {
  const IssuedCommand& issued;
  const Config& config;
  const sim::MemoryMap& dram;
  Buffers& buffers;
  const Command& command = issued.command;

  uint8_t* find(int64_t address, int64_t bytes, bool for_writing) const {
    uint8_t* data = dram.find(address, bytes, for_writing);
    if (data == nullptr) {
      issued.fail(ErrorKind::kAddressOutOfRange, dram.explain(address, bytes, for_writing));
    }
    return data;
  }

  void load() const {
    if (command.memory == kUop) return load<uint32_t>(buffers.uop);
    if (command.memory == kWgt) return load<int8_t>(buffers.wgt);
    if (command.memory == kInp) return load<int8_t>(buffers.inp);
    std::fill_n(&buffers.out.is_defined[command.sram_base], command.sram_rows(), 0);
    if (command.memory == kAcc) return load<int32_t>(buffers.acc);
    load<int8_t>(buffers.acc);
  }

  template <typename InDram, typename T>
  void load(Buffer<T>& to) const {
    const DramLines lines = dram_lines(issued, config);
    T* line = to.row(command.sram_base);
    std::fill_n(line, command.sram_rows() * to.row_elements, T{0});
    line += (command.y_pad_before * command.line_rows() + command.x_pad_before) * to.row_elements;
    for (int64_t y = 0; y < command.y_size; ++y) {
      const uint8_t* from = find(lines.address(y), lines.line_bytes, /*for_writing=*/false);
      if constexpr (sizeof(InDram) == sizeof(T)) {
        std::memcpy(line, from, lines.line_bytes);
      } else {
        std::transform(from, from + lines.line_bytes, line,
                       [](uint8_t byte) { return static_cast<InDram>(byte); });
      }
      line += command.line_rows() * to.row_elements;
    }
    std::fill_n(&to.is_defined[command.sram_base], command.sram_rows(), 1);
  }

  void store() const {
    const DramLines lines = dram_lines(issued, config);
    for (int64_t i = 0; i < command.sram_rows(); ++i) {
      buffers.out.defined_row_of(issued, command.sram_base + i);
    }
    for (int64_t y = 0; y < command.y_size; ++y) {
      uint8_t* to = find(lines.address(y), lines.line_bytes, /*for_writing=*/true);
      std::memcpy(to, buffers.out.row(command.sram_base + y * command.x_size), lines.line_bytes);
    }
  }

  void gemm() const {
    const int64_t batch = config.batch();
    const int64_t block_in = config.block_in();
    const int64_t block_out = config.block_out();
    for_each_step(issued, buffers.uop, [&](const Step& step) {
      if (command.reset) {
        std::fill_n(buffers.acc.row_of(issued, step.dst), buffers.acc.row_elements, 0);
        buffers.acc.is_defined[step.dst] = 1;
        buffers.out.is_defined[step.dst] = 0;
        return;
      }
      int32_t* acc = buffers.acc.defined_row_of(issued, step.dst);
      const int8_t* inp = buffers.inp.defined_row_of(issued, step.src);
      const int8_t* weights = buffers.wgt.defined_row_of(issued, step.wgt);
      for (int64_t b = 0; b < batch; ++b, inp += block_in) {
        const int8_t* wgt = weights;
        for (int64_t j = 0; j < block_out; ++j, ++acc, wgt += block_in) {
          int32_t sum = 0;  // at most 2^7 products of 2^14
          for (int64_t k = 0; k < block_in; ++k) sum += int32_t{inp[k]} * int32_t{wgt[k]};
          *acc = add(*acc, sum);
        }
      }
      define_out(step.dst);
    });
  }

  void alu() const {
    const auto shift = [&](int32_t a, int32_t b) {
      if (command.immediate < 0) return static_cast<int32_t>(static_cast<uint32_t>(a) << -b);
      // From a register the hardware takes 5 bits, and never shifts to the left.
      if (b >= 0 && b <= 31) return a >> b;
      issued.fail(ErrorKind::kUnsupportedCommand,
                  "needs shifts of 0 to 31 in a register, has " + std::to_string(b));
    };
    if (command.alu_op == kMin) {
      alu([](int32_t a, int32_t b) { return std::min(a, b); });
    } else if (command.alu_op == kMax) {
      alu([](int32_t a, int32_t b) { return std::max(a, b); });
    } else if (command.alu_op == kAdd) {
      alu(add);
    } else if (command.alu_op == kShr) {
      alu(shift);
    } else {
      alu(multiply);
    }
  }

  template <typename Op>
  void alu(Op op) const {
    const bool is_immediate = command.use_immediate != 0;
    const auto immediate = static_cast<int32_t>(command.immediate);
    Buffer<int32_t>& acc = buffers.acc;
    for_each_step(issued, buffers.uop, [&](const Step& step) {
      if (step.wgt != 0) {  // the hardware may take it for a part of the source
        issued.fail(ErrorKind::kUnsupportedCommand,
                    "needs micro-ops of weights' row 0, has " + std::to_string(step.wgt));
      }
      int32_t* dst = acc.defined_row_of(issued, step.dst);
      // An immediate's step names a source as well, which has to be a row.
      const int32_t* src =
          is_immediate ? acc.row_of(issued, step.src) : acc.defined_row_of(issued, step.src);
      for (int64_t i = 0; i < acc.row_elements; ++i) {
        dst[i] = op(dst[i], is_immediate ? immediate : src[i]);
      }
      define_out(step.dst);
    });
  }

  void define_out(int64_t row) const {
    const int32_t* from = buffers.acc.row(row);
    std::transform(from, from + buffers.acc.row_elements, buffers.out.row(row),
                   [](int32_t sum) { return static_cast<int8_t>(sum); });
    buffers.out.is_defined[row] = 1;
  }
};

}  // namespace

DramLines dram_lines(const IssuedCommand& issued, const Config& config) {
  const Command& command = issued.command;
  const int64_t row_bytes = config.row_bytes(command.memory);
  const DramLines lines = {command.dram_base * row_bytes, command.x_size * row_bytes,
                           command.x_stride * row_bytes, command.y_size};
  if (lines.end() > kAddressEnd) {
    issued.fail(ErrorKind::kAddressOutOfRange,
                "needs DRAM up to " + sim::hex(lines.end()) + ", has addresses of 32 bits");
  }
  return lines;
}

void run(const IssuedCommand& issued, const Config& config, const sim::MemoryMap& dram,
         Buffers& buffers) {
  const Runner runner = {issued, config, dram, buffers};
  if (issued.command.is_tokens_only()) return;
  if (issued.command.opcode == kLoad) runner.load();
  if (issued.command.opcode == kStore) runner.store();
  if (issued.command.opcode == kGemm) runner.gemm();
  if (issued.command.opcode == kAlu) runner.alu();
}

}  // namespace npu::vta
