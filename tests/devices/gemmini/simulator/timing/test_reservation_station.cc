#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/operation_decoder.h"
#include "gemmini/simulator/timing/reservation_station.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

using timing::kNever;
using timing::OperationDecoder;
using timing::Queue;
using timing::ReservationStation;

// A station fed with commands, as the front end does.
struct Feed {
  explicit Feed(const Config& device) : config(device), decoder(config), station(config) {}

  ReservationStation::Id enter(const Command& command, timing::Cycle now) {
    const ReservationStation::Id id = station.reserve(OperationDecoder::queue_of(command));
    decoder.decode(command, station.operation(id));
    station.enter(OperationDecoder::queue_of(command), command.funct == kConfig, id, now);
    return id;
  }
  void complete(ReservationStation::Id id, timing::Cycle when) {
    station.complete(station.operation(id).queue, id, when);
  }

  Config config;
  OperationDecoder decoder;
  ReservationStation station;
};

// When `later` is issued that enters at 10, after `earlier`, which entered at 5 and completes
// at 100.
timing::Cycle issue_after(const Command& earlier, const Command& later,
                          const Stream& setup = usual_setup()) {
  Feed feed(timing_device());
  for (const Command& command : setup) {
    if (OperationDecoder::queue_of(command) == Queue::kExecute) {
      feed.complete(feed.enter(command, 0), 1);
      feed.station.take(Queue::kExecute);
    } else {
      feed.enter(command, 0);
    }
  }
  const ReservationStation::Id first = feed.enter(earlier, 5);
  const ReservationStation::Id second = feed.enter(later, 10);
  if (feed.station.issued(second) == kNever) feed.complete(first, 100);
  return feed.station.issued(second);
}

constexpr timing::Cycle kAtOnce = 11;
constexpr timing::Cycle kWaits = 101;

const Test raw("timing/reservation_station: COMPUTE waits for the MVIN of any of its rows", [] {
  CHECK_EQUAL(issue_after(mvin(kDram, 0, 16, 16), compute(0)), kWaits);
  CHECK_EQUAL(issue_after(mvin(kDram, 0, 16, 16), compute(15)), kWaits);
  CHECK_EQUAL(issue_after(mvin(kDram, 0, 16, 16), compute(16)), kAtOnce);
  CHECK_EQUAL(issue_after(mvin(kDram, 16, 16, 16), compute(0)), kAtOnce);
  CHECK_EQUAL(issue_after(mvin(kDram, 16, 16, 16), compute(1)), kWaits);
  // Blocks of a wide MVIN lie block_stride rows apart, and everything between counts.
  CHECK_EQUAL(issue_after(mvin(kDram, 0, 16, 64), compute(63)), kWaits);
  CHECK_EQUAL(issue_after(mvin(kDram, 0, 16, 64), compute(64)), kAtOnce);
});

const Test memories(
    "timing/reservation_station: equal rows of the two memories do not conflict", [] {
      CHECK_EQUAL(issue_after(mvin(kDram, 0, 16, 16), mvout(kDram, kAcc, 16, 16)), kAtOnce);
      CHECK_EQUAL(issue_after(mvin(kDram, 0, 16, 16), mvout(kDram, 0, 16, 16)), kWaits);
    });

const Test war("timing/reservation_station: MVIN waits for readers of what it overwrites", [] {
  CHECK_EQUAL(issue_after(compute(0), mvin(kDram, 15, 4, 16)), kWaits);
  CHECK_EQUAL(issue_after(compute(0), mvin(kDram, 16, 4, 16)), kAtOnce);
  CHECK_EQUAL(issue_after(compute(0, 16, 64), mvin(kDram, 64, 4, 16)), kWaits);
  CHECK_EQUAL(issue_after(preload(32, kAcc), mvin(kDram, 40, 4, 16)), kWaits);
  CHECK_EQUAL(issue_after(preload(kGarbage, kAcc), mvin(kDram, 40, 4, 16)), kAtOnce);
  CHECK_EQUAL(issue_after(mvout(kDram, 0, 16, 16), mvin(kDram, 0, 4, 16)), kWaits);
});

const Test results("timing/reservation_station: MVOUT waits for the PRELOAD that names its rows",
                   [] {
                     const Command store = mvout(kDram, kAcc, 16, 16);
                     CHECK_EQUAL(issue_after(preload(0, kAcc + 15), store), kWaits);
                     CHECK_EQUAL(issue_after(preload(0, kAcc + 16), store), kAtOnce);
                     CHECK_EQUAL(issue_after(preload(0, kAccumulate), store), kWaits);
                   });

const Test overwritten(
    "timing/reservation_station: PRELOAD waits for the MVOUT of its result's rows", [] {
      const Command store = mvout(kDram, kAcc, 16, 16);
      CHECK_EQUAL(issue_after(store, preload(0, kAcc)), kWaits);
      CHECK_EQUAL(issue_after(store, preload(0, kAcc + 16)), kAtOnce);
    });

const Test readers("timing/reservation_station: two that read do not wait for each other", [] {
  CHECK_EQUAL(issue_after(mvout(kDram, 0, 16, 16), compute(0)), kAtOnce);
  CHECK_EQUAL(issue_after(compute(0), mvout(kDram, 0, 16, 16)), kAtOnce);
});

const Test pooled("timing/reservation_station: a pooling MVOUT reads to the end of its bank", [] {
  const uint64_t pool = uint64_t{2} << 4 | uint64_t{2} << 6;  // stride 2, window 2
  const Stream setup = {
      config_ld(64), {kConfig, pool | kConfigSt, float_bits(1.0f) << 32 | 64}, config_ex()};
  const Command store = mvout(kDram, kAcc, 0, 16);
  CHECK_EQUAL(issue_after(preload(0, kAcc + 112), store, setup), kWaits);
  CHECK_EQUAL(issue_after(preload(0, kAcc + 128), store, setup), kAtOnce);
});

const Test strides("timing/reservation_station: C of a stride takes stride times its rows", [] {
  Stream setup = usual_setup();
  setup.back().rs2 = uint64_t{2} << 48;
  CHECK_EQUAL(issue_after(preload(0, kAcc, 8), mvout(kDram, kAcc + 15, 1, 16), setup), kWaits);
  CHECK_EQUAL(issue_after(preload(0, kAcc, 8), mvout(kDram, kAcc + 16, 1, 16), setup), kAtOnce);
});

const Test configs(
    "timing/reservation_station: configuration waits for no rows and frees its entry", [] {
      CHECK_EQUAL(issue_after(compute(0), config_ld(64)), kAtOnce);
      Feed feed(timing_device());
      for (int i = 0; i < 100; ++i) {
        CHECK(feed.station.has_room(Queue::kLoad, 2 * i));
        feed.enter(config_ld(64), 2 * i);
      }
    });

const Test room("timing/reservation_station: an entry is free the cycle after completion", [] {
  Feed feed(timing_device());
  feed.enter(config_ld(64), 0);
  ReservationStation::Id ids[8];
  for (int i = 0; i < 8; ++i) {
    CHECK(feed.station.has_room(Queue::kLoad, 10 + i));
    ids[i] = feed.enter(mvin(kDram, 0, 1, 16), 10 + i);
  }
  CHECK(!feed.station.has_room(Queue::kLoad, 1000));
  CHECK(feed.station.next_release(Queue::kLoad) == kNever);
  feed.complete(ids[3], 60);
  feed.complete(ids[1], 50);
  CHECK_EQUAL(feed.station.next_release(Queue::kLoad), 51);
  CHECK(!feed.station.has_room(Queue::kLoad, 50));
  CHECK(feed.station.has_room(Queue::kLoad, 51));
  CHECK(feed.station.has_room(Queue::kExecute, 51));
  feed.enter(mvin(kDram, 0, 1, 16), 51);
  CHECK(!feed.station.has_room(Queue::kLoad, 60));
  CHECK(feed.station.has_room(Queue::kLoad, 61));
});

const Test any_order("timing/reservation_station: entries become free in order of time", [] {
  Config config = timing_device();
  config.st_queue_entries = 8;
  Feed feed(config);
  const timing::Cycle ends[] = {90, 30, 70, 50, 110, 10, 80, 20};
  ReservationStation::Id ids[8];
  for (int i = 0; i < 8; ++i)
    ids[i] = feed.enter(mvout(kDram, 16u * static_cast<uint32_t>(i), 1, 16), i);
  for (int i = 0; i < 8; ++i) feed.complete(ids[i], 1000 + ends[i]);
  for (const timing::Cycle end : {10, 20, 30, 50, 70, 80, 90, 110}) {
    CHECK_EQUAL(feed.station.next_release(Queue::kStore), 1000 + end + 1);
    feed.station.has_room(Queue::kStore, 1000 + end + 1);
  }
  CHECK(feed.station.next_release(Queue::kStore) == kNever);
});

const Test parts("timing/reservation_station: rows that are far apart do not meet", [] {
  // Any two places of the memories: an MVIN of 16 rows, a COMPUTE of 16 rows.
  const int64_t rows = timing_device().spad_rows();
  for (int64_t from = 0; from + 16 <= rows; from += 80) {
    for (int64_t to = 0; to + 16 <= rows; to += 24) {
      const bool overlaps = from < to + 16 && to < from + 16;
      CHECK_EQUAL(issue_after(mvin(kDram, static_cast<uint32_t>(from), 16, 16),
                              compute(static_cast<uint32_t>(to))),
                  overlaps ? kWaits : kAtOnce);
    }
  }
});

const Test in_order("timing/reservation_station: a queue issues in order, a command per cycle", [] {
  Feed feed(timing_device());
  feed.enter(config_ld(64), 0);
  const auto blocker = feed.enter(compute(0), 1);
  const auto first = feed.enter(mvin(kDram, 0, 16, 16), 2);    // overwrites A
  const auto second = feed.enter(mvin(kDram, 64, 16, 16), 3);  // needs nothing, but is behind
  CHECK(feed.station.issued(second) == kNever);
  feed.complete(blocker, 70);
  CHECK_EQUAL(feed.station.issued(first), 71);
  CHECK_EQUAL(feed.station.issued(second), 72);
});

const Test too_many("timing/reservation_station: more entries than the model holds", [] {
  Config config = timing_device();
  config.ex_queue_entries = 53;
  CHECK_FAILS(kBadProgram, Timing timing(config));
  config.ex_queue_entries = 52;
  Timing timing(config);
});

}  // namespace
}  // namespace npu::gemmini::testing
