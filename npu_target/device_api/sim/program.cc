#include "sim/program.h"

#include <algorithm>

#include "sim/byte_reader.h"
#include "sim/crc32.h"
#include "sim/memory.h"
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

size_t Program::tensors() const {
  const auto is_constant = [](const Argument& argument) { return argument.is_constant; };
  const auto first = std::find_if(arguments.begin(), arguments.end(), is_constant);
  return static_cast<size_t>(first - arguments.begin());
}

std::vector<uint64_t> Program::default_addresses() const {
  std::vector<uint64_t> alignments(arguments.size(), kPageBytes);
  for (const ArgumentAddress& shifted : shifted_addresses) {
    uint64_t& alignment = alignments[shifted.argument];
    alignment = std::max(alignment, uint64_t{1} << shifted.unit);
  }
  const auto rounded_up = [](uint64_t address, uint64_t multiple) {
    return (address + multiple - 1) / multiple * multiple;
  };
  std::vector<uint64_t> addresses;
  uint64_t next = kFirstAddress;
  for (size_t i = 0; i < arguments.size(); ++i) {
    // The first is at a page, which is all that most programs need.
    if (alignments[i] > kPageBytes) next = rounded_up(next, alignments[i]);
    addresses.push_back(next);
    next = rounded_up(next + arguments[i].bytes, kPageBytes);
  }
  return addresses;
}

std::vector<uint64_t> Program::address_words(const std::vector<uint64_t>& addresses) const {
  if (addresses.size() != arguments.size()) {
    throw SimError(ErrorKind::kBadProgram, -1,
                   "program '" + name + "': needs " + std::to_string(arguments.size()) +
                       " argument addresses, has " + std::to_string(addresses.size()));
  }
  std::vector<uint64_t> words = addresses;
  for (const ArgumentAddress& shifted : shifted_addresses) {
    const uint64_t address = addresses[shifted.argument];
    const uint64_t multiple = uint64_t{1} << shifted.unit;
    if (address % multiple != 0) {
      throw SimError(ErrorKind::kBadProgram, -1,
                     "program '" + name + "', argument '" + arguments[shifted.argument].name +
                         "': needs a multiple of " + std::to_string(multiple) +
                         " for an address, has " + hex(address));
    }
    words.push_back(shifted.word(address));
  }
  return words;
}

}  // namespace npu::sim
