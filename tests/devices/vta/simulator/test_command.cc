// Words and fields: where each is, what must be 0.
#include <random>

#include "device.h"

namespace npu::vta::testing {
namespace {

const Test layout("the fields lie where the public description of the default device has them", [] {
  Command load = transfer(kLoad, kInp, 0x1234, 0, 16, 7);
  load = tokens(load, "pop> push>");
  load.dram_base = 0x89ABCDEF;
  load.y_size = 0x1111;
  load.x_size = 0x2222;
  load.x_stride = 0x3333;
  load.y_pad_before = 1;
  load.y_pad_after = 2;
  load.x_pad_before = 3;
  load.x_pad_after = 4;
  const sim::Command words = encode(load);
  CHECK_EQUAL(words.rs1,
              0u | 1u << 4 | 1u << 6 | 2u << 7 | 0x1234u << 10 | uint64_t{0x89ABCDEF} << 26);
  CHECK_EQUAL(words.rs2, 0x4321'3333'2222'1111u);

  Command gemm = steps(kGemm, 0x1555, 0x2AAA, 0x1111, 0x2222);
  gemm.reset = 1;
  gemm.dst_factor_out = 0x401;
  gemm.dst_factor_in = 2;
  gemm.src_factor_out = 3;
  gemm.src_factor_in = 4;
  gemm.wgt_factor_out = 5;
  gemm.wgt_factor_in = 0x201;
  const sim::Command gemm_words = encode(gemm);
  CHECK_EQUAL(gemm_words.rs1, 2u | 1u << 7 | uint64_t{0x1555} << 8 | uint64_t{0x2AAA} << 21 |
                                  uint64_t{0x1111} << 35 | uint64_t{0x2222} << 49);
  CHECK_EQUAL(gemm_words.rs2, 0x401u | 2u << 11 | 3u << 22 | uint64_t{4} << 33 | uint64_t{5} << 44 |
                                  uint64_t{0x201} << 54);

  Command alu = alu_immediate(kShr, -3, 0, 1);
  alu.src_factor_in = 0x7FF;
  CHECK_EQUAL(encode(alu).rs2, uint64_t{0x7FF} << 33 | uint64_t{3} << 44 | uint64_t{1} << 47 |
                                   uint64_t{0xFFFD} << 48);
});

const Test round_trip("what is encoded is decoded", [] {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    Command command;
    command.opcode = static_cast<int64_t>(random() % 5);
    for (const Field& field : fields_of(command.opcode)) {
      command.*field.member = static_cast<int64_t>((random() & field.mask()) >> field.low);
    }
    command.immediate = static_cast<int16_t>(command.immediate);
    const sim::Command words = encode(command);
    const Command decoded = decode(words, 0);
    CHECK_EQUAL(describe(decoded), describe(command));
    CHECK_EQUAL(encode(decoded).rs1, words.rs1);
    CHECK_EQUAL(encode(decoded).rs2, words.rs2);
  }
});

const Test reserved("reserved bits and opcodes are refused, each one", [] {
  constexpr int kUsedBits[] = {3 + 4 + 115, 3 + 4 + 115, 3 + 4 + 1 + 55 + 64, 3 + 4,
                               3 + 4 + 55 + 64};
  for (uint64_t opcode = 0; opcode <= kAlu; ++opcode) {
    uint64_t used[] = {7, 0};
    for (const Field& field : fields_of(static_cast<int64_t>(opcode))) {
      CHECK_EQUAL(used[field.word] & field.mask(), 0u);
      used[field.word] |= field.mask();
    }
    int count = 0;
    for (int bit = 0; bit < 128; ++bit) {
      const bool is_used = (used[bit / 64] >> bit % 64 & 1) != 0;
      count += is_used;
      if (bit < 3) continue;
      uint64_t words[] = {opcode, 0};
      words[bit / 64] |= uint64_t{1} << bit % 64;
      const sim::Command command = {0, words[0], words[1]};
      if (is_used) {
        decode(command, 0);
      } else {
        CHECK_FAILS(kUnsupportedCommand, decode(command, 0));
      }
    }
    CHECK_EQUAL(count, kUsedBits[opcode]);
  }
  for (uint64_t opcode = kAlu + 1; opcode < 8; ++opcode) {
    CHECK_FAILS(kUnsupportedCommand, decode({0, opcode, 0}, 0));
  }
  CHECK_FAILS(kUnsupportedCommand, decode({1, kFinish, 0}, 0));
});

const Test limits("numbers that no device can have are refused", [] {
  for (const auto& [name, value] : Config::Pairs{{"log_acc_buffer_bytes", 18},
                                                 {"log_inp_buffer_bytes", 16},
                                                 {"log_inp_buffer_bytes", 4},
                                                 {"host_icache_ways", 3},
                                                 {"log_wgt_buffer_bytes", 19},
                                                 {"log_uop_buffer_bytes", 16},
                                                 {"token_limit", 0}}) {
    CHECK_FAILS(kBadProgram, device_with({{name, value}}));
  }
  Config::Pairs fields = device_fields();
  fields.pop_back();
  CHECK_FAILS(kBadProgram, Config::from_pairs(fields));
  fields.emplace_back("unknown", 1);
  CHECK_FAILS(kBadProgram, Config::from_pairs(fields));
  fields = device_fields();
  fields.push_back(fields[0]);
  CHECK_FAILS(kBadProgram, Config::from_pairs(fields));
});

}  // namespace
}  // namespace npu::vta::testing
