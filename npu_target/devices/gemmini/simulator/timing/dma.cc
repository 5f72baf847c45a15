#include "gemmini/simulator/timing/dma.h"

namespace npu::gemmini::timing {

Packet choose_small_packet(const PacketSizes& sizes, uint64_t address, int64_t bytes) {
  Packet best{};
  for (int64_t size = sizes.least_bytes; size <= sizes.most_bytes; size *= 2) {
    const int64_t skipped = static_cast<int64_t>(address & static_cast<uint64_t>(size - 1));
    const int64_t useful = std::min(size - skipped, bytes);
    if (useful > best.useful_bytes) {
      best = {address - static_cast<uint64_t>(skipped), size, skipped, useful};
    }
    if (useful == bytes) break;
  }
  return best;
}

DmaReader::DmaReader(const Config& config, L2& l2)
    : l2_(l2),
      bus_bytes_("bus_bytes", config.bus_bytes),
      packet_sizes_{config.bus_bytes, config.dma_request_bytes},
      scaled_row_cycles_(ceil_div(config.dim, config.mvin_scale_units)),
      in_flight_(config.dma_requests_in_flight) {}

std::optional<Packet> DmaReader::packet_of_each(const Row& row, uint64_t stride_bytes) const {
  const Packet packet = choose_packet(packet_sizes_, row.address, row.bytes);
  const bool is_aligned = packet.skipped_bytes == 0 &&
                          (stride_bytes & static_cast<uint64_t>(packet.size_bytes - 1)) == 0;
  if (!is_aligned || packet.useful_bytes != row.bytes || !leaves_with_beats(row)) return {};
  return packet;
}

DmaWriter::DmaWriter(const Config& config, L2& l2)
    : l2_(l2),
      bus_bytes_("bus_bytes", config.bus_bytes),
      packet_sizes_{config.bus_bytes, config.dma_request_bytes},
      in_flight_(config.dma_requests_in_flight) {
  entered_.fill(kLongAgo);
}

void DmaWriter::send(uint64_t address, int64_t bytes, Cycle accepted) {
  Cycle next_beat = accepted + 1;
  while (bytes > 0) {
    const Packet packet = choose_packet(packet_sizes_, address, bytes);
    const int64_t beats = bus_bytes_.divide(packet.size_bytes);
    const Ticks first = std::max(to_ticks(std::max(next_beat, in_flight_.earliest())), bus_free_);
    bus_free_ = first + to_ticks(beats) + kL2WriteGapTicks;
    const Cycle came = cycle_of(first);
    const Cycle last_beat = std::max(came, room(beats)) + beats - 1;
    const bool is_partial = packet.useful_bytes < packet.size_bytes;
    const L2::Written written =
        l2_.write(packet.address, packet.size_bytes, is_partial, came, last_beat);
    entered_[next_packet_++ % kL2WriteBeatsAhead] = written.entered;
    in_flight_.push_in_any_order(written.acknowledged);
    last_acknowledged_ = std::max(last_acknowledged_, written.acknowledged);
    next_beat = last_beat + 1;
    address += static_cast<uint64_t>(packet.useful_bytes);
    bytes -= packet.useful_bytes;
  }
  ready_ = next_beat - 1;
}

}  // namespace npu::gemmini::timing
