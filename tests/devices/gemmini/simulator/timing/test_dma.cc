#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/dma.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

using timing::choose_packet;
using timing::Cycle;
using timing::DmaReader;
using timing::DmaWriter;
using timing::InFlight;
using timing::kL2PermissionStages;
using timing::L2;
using timing::Packet;
using timing::PacketSizes;

constexpr PacketSizes kSizes = {16, 64};

void check_packet(uint64_t address, int64_t bytes, const Packet& wanted) {
  const Packet packet = choose_packet(kSizes, address, bytes);
  CHECK_EQUAL(packet.address, wanted.address);
  CHECK_EQUAL(packet.size_bytes, wanted.size_bytes);
  CHECK_EQUAL(packet.skipped_bytes, wanted.skipped_bytes);
  CHECK_EQUAL(packet.useful_bytes, wanted.useful_bytes);
}

const Test packets("timing/dma: a packet is the smallest that covers most", [] {
  check_packet(0x1000, 64, {0x1000, 64, 0, 64});
  check_packet(0x1000, 16, {0x1000, 16, 0, 16});
  check_packet(0x1000, 17, {0x1000, 32, 0, 17});
  check_packet(0x1000, 1, {0x1000, 16, 0, 1});
  check_packet(0x1006, 10, {0x1000, 16, 6, 10});
  check_packet(0x1006, 11, {0x1000, 32, 6, 11});
  check_packet(0x1006, 32, {0x1000, 64, 6, 32});
  // Half of it: no size reaches further than the 28 bytes to the boundary, 32 bytes do that.
  check_packet(0x1024, 32, {0x1020, 32, 4, 28});
  check_packet(0x103F, 64, {0x1030, 16, 15, 1});
});

const Test limit("timing/dma: one more than fits waits for the first to be done", [] {
  InFlight slots(2);
  slots.push(100);
  CHECK_EQUAL(slots.earliest(), 0);
  slots.push(200);
  CHECK_EQUAL(slots.earliest(), 101);
  slots.push(300);
  CHECK_EQUAL(slots.earliest(), 201);
});

const Test any_order("timing/dma: in any order, one more than fits waits for the earliest", [] {
  InFlight slots(3);
  for (const Cycle done : {300, 100, 200}) slots.push_in_any_order(done);
  CHECK_EQUAL(slots.earliest(), 101);
  slots.push_in_any_order(150);
  CHECK_EQUAL(slots.earliest(), 151);
  slots.push_in_any_order(400);
  CHECK_EQUAL(slots.earliest(), 201);
  slots.push_in_any_order(500);
  CHECK_EQUAL(slots.earliest(), 301);
});

struct Written {
  Cycle start = -1;  // of the first SRAM row
  Cycle end = -1;    // of the last
  int64_t sram_rows = 0;
};

// Reads `rows` rows of `bytes`, `stride` apart, from lines that are in the cache.
Written read_rows(int64_t rows, int64_t bytes, uint64_t address, uint64_t stride,
                  bool is_scaled = false, int64_t writes = 1, Config config = timing_device()) {
  L2 l2(config);
  for (uint64_t at = kDram; at < kDram + 4096; at += 64) l2.read(at, 64, -1000, 0);
  DmaReader reader(config, l2);
  Written written;
  for (int64_t i = 0; i < rows; ++i) {
    const DmaReader::Row row = {address + static_cast<uint64_t>(i) * stride, bytes, 16, writes,
                                is_scaled};
    reader.read(row, 1000 + i, [&](int64_t first, int64_t last, Cycle start, Cycle end) {
      if (written.start < 0) written.start = start;
      CHECK(start >= written.end);
      written.end = end;
      written.sram_rows += last - first + 1;
    });
  }
  return written;
}
Cycle length(const Written& written) { return written.end - written.start; }

const Test beats("timing/dma: aligned rows are written at a beat per cycle", [] {
  CHECK_EQUAL(read_rows(1, 16, kDram, 64).start, 1000 + 11 + 1 + 4);
  CHECK_EQUAL(length(read_rows(1, 16, kDram, 64)), 1);
  CHECK_EQUAL(length(read_rows(1, 64, kDram, 64)), 4);
  CHECK_EQUAL(read_rows(1, 64, kDram, 64).sram_rows, 4);
  CHECK_EQUAL(read_rows(1, 21, kDram, 64).sram_rows, 2);
  CHECK_EQUAL(length(read_rows(16, 16, kDram, 64)), 16);
  CHECK_EQUAL(length(read_rows(17, 16, kDram, 64)), 17);
});

const Test misaligned("timing/dma: rows across boundaries carry beats that are thrown away", [] {
  // 16 bytes at offset 8: two beats for one row, which leaves after the second.
  CHECK_EQUAL(read_rows(1, 16, kDram + 8, 64).start, read_rows(1, 16, kDram, 64).start + 1);
  CHECK_EQUAL(length(read_rows(8, 16, kDram + 8, 64)), 15);
  CHECK_EQUAL(length(read_rows(8, 16, kDram, 64)), 8);
});

const Test lost("timing/dma: the merger loses a cycle when the last row and the last beat meet",
                [] {
                  // 33 to 48 bytes come in a packet of four beats: the last row leaves as the last
                  // beat arrives.
                  const auto per_row = [](int64_t bytes) {
                    return length(read_rows(9, bytes, kDram, 64)) -
                           length(read_rows(8, bytes, kDram, 64));
                  };
                  CHECK_EQUAL(per_row(32), 2);
                  CHECK_EQUAL(per_row(48), 5);
                  CHECK_EQUAL(per_row(64), 4);
                });

const Test scaled("timing/dma: scaled rows take dim / mvin_scale_units cycles each", [] {
  CHECK_EQUAL(length(read_rows(16, 16, kDram, 64, true)), 15 * 4 + 1);
  CHECK_EQUAL(read_rows(1, 16, kDram, 64, true).start, read_rows(1, 16, kDram, 64).start + 6);
  Config config = timing_device();
  config.mvin_scale_units = 16;
  CHECK_EQUAL(length(read_rows(16, 16, kDram, 64, true, 1, config)), 16);
});

const Test repeated("timing/dma: a repeated row takes the port once per repeat", [] {
  CHECK_EQUAL(length(read_rows(1, 16, kDram, 64, false, 16)), 16);
  CHECK_EQUAL(length(read_rows(4, 16, kDram, 64, false, 3)), 12);
});

const Test outstanding("timing/dma: fewer requests under way than the latency needs slow reads",
                       [] {
                         Config config = timing_device();
                         // A request is under way for 11 cycles of latency and one beat.
                         config.dma_requests_in_flight = 13;
                         CHECK_EQUAL(length(read_rows(15, 16, kDram, 64, false, 1, config)), 15);
                         config.dma_requests_in_flight = 4;
                         CHECK(length(read_rows(15, 16, kDram, 64, false, 1, config)) > 30);
                       });

Cycle write_rows(int64_t rows, int64_t bytes, uint64_t address, bool is_warm = true,
                 Config config = timing_device()) {
  L2 l2(config);
  if (is_warm) {
    for (uint64_t at = kDram; at < kDram + 4096; at += 64) l2.read(at, 64, -1000, 0);
  }
  DmaWriter writer(config, l2);
  for (int64_t i = 0; i < rows; ++i) {
    const Cycle when = std::max<Cycle>(1000, writer.ready());
    writer.accept(when);
    writer.send(address + 64 * static_cast<uint64_t>(i), bytes, when);
  }
  return writer.last_acknowledged();
}

const Test writes("timing/dma: a row is sent a beat per cycle, the next taken with the last", [] {
  CHECK_EQUAL(write_rows(1, 16, kDram), 1000 + 1 + 11);
  CHECK_EQUAL(write_rows(1, 64, kDram), 1000 + 4 + 11);
  // One cycle lost in twenty requests.
  CHECK_EQUAL(write_rows(20, 16, kDram), 1000 + 20 + 11);
  CHECK_EQUAL(write_rows(22, 16, kDram), 1000 + 23 + 11);
  CHECK_EQUAL(write_rows(8, 64, kDram), 1000 + 8 * 4 + 11);
  // 48 bytes cost the packet of 64 that covers them.
  CHECK_EQUAL(write_rows(1, 48, kDram), 1000 + 4 + 11);
  // Across a boundary: 8 bytes, then 8 bytes.
  CHECK_EQUAL(write_rows(1, 16, kDram + 56), 1000 + 2 + 11);
});

const Test acknowledged("timing/dma: writes wait for acknowledgements when too many are under way",
                        [] {
                          Config config = timing_device();
                          config.dma_requests_in_flight = 2;
                          CHECK_EQUAL(write_rows(2, 16, kDram, true, config), 1000 + 2 + 11);
                          // The third starts after the first came back, the fourth a cycle later.
                          CHECK_EQUAL(write_rows(4, 16, kDram, true, config), 1013 + 1 + 11);
                        });

const Test fetch("timing/dma: partial writes to absent lines wait for memory, whole ones do not",
                 [] {
                   const Cycle permission = kL2PermissionStages + 1;
                   CHECK_EQUAL(write_rows(1, 64, kDram, false), 1000 + 4 + 11 + permission);
                   CHECK_EQUAL(write_rows(1, 48, kDram, false), 1000 + 4 + 11 + 5 + 8 - 4);
                   // For what they write only, if that comes first.
                   CHECK_EQUAL(write_rows(1, 16, kDram, false), 1000 + 1 + 11 + 5 + 8 / 4 - 1);
                   CHECK_EQUAL(write_rows(1, 16, kDram + 16, false), 1000 + 1 + 11 + 5 + 8);
                 });

}  // namespace
}  // namespace npu::gemmini::testing
