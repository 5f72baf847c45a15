#include "sim/program.h"

#include "sim/byte_reader.h"
#include "sim/crc32.h"
#include "sim/program_parse.h"

namespace npu::sim {
namespace {

constexpr std::string_view kMagic("NPUPROG\x03", 8);

}  // namespace

Program Program::parse(std::string_view bytes) {
  ByteReader in(bytes, "program file");
  if (bytes.size() < kMagic.size() || in.take(kMagic.size()) != kMagic) {
    in.fail("needs a program file (NPUPROG, version 3), has other bytes");
  }
  const uint32_t payload_bytes = in.u32();
  const uint32_t checksum = in.u32();
  if (in.remaining() != payload_bytes) {
    in.fail("needs " + std::to_string(payload_bytes) + " B of payload, has " +
            std::to_string(in.remaining()) + " B; the file is cut off or has bytes added");
  }
  const std::string_view payload = in.take(payload_bytes);
  if (crc32(payload) != checksum) in.fail("needs a payload of the stated checksum, has another");
  return parse_payload(payload);
}

std::vector<uint64_t> Program::default_addresses() const {
  std::vector<uint64_t> addresses;
  uint64_t next = kFirstAddress;
  for (const Argument& argument : arguments) {
    addresses.push_back(next);
    next = (next + argument.bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  return addresses;
}

}  // namespace npu::sim
