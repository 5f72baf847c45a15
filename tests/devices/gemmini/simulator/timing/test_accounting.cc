// Where the cycles go: every cycle of a run has one reason, and the reasons are the right ones.
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "../loops/loop_words.h"
#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/recorder.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

using timing::Accounting;
using timing::Cycle;
using timing::Reason;
using timing::Recorder;
using timing::Slice;

const uint32_t kOtherBank = static_cast<uint32_t>(timing_device().spad_bank_rows);

struct Recorded {
  Cycle cycles = 0;
  Accounting::Breakdown breakdown{};
  timing::Stats stats;

  Cycle of(Reason reason) const { return breakdown[static_cast<size_t>(reason)]; }
  Cycle sum() const { return std::accumulate(breakdown.begin(), breakdown.end(), Cycle{0}); }
};

// From a fence to a fence, caches warm.
Recorded record(const Stream& stream, uint32_t host_cycles = 1, const Stream& setup = usual_setup(),
                timing::SliceSink sink = nullptr) {
  Recorder recorder(std::move(sink));
  recorder.set_origin(timing::kNever);
  Timing timing(timing_device());
  timing.record(&recorder);
  for (const Command& command : setup) timing.issue(command, 1);
  recorder.set_origin(static_cast<Cycle>(timing.finish()));
  uint64_t start = 0;
  Recorded result;
  timing::Stats before;
  for (int run = 0; run < 2; ++run) {
    start = timing.finish();
    before = timing.stats();
    for (const Command& command : stream) timing.issue(command, host_cycles);
    result.cycles = static_cast<Cycle>(timing.finish() - start);
    CHECK_EQUAL(std::accumulate(recorder.breakdown().begin(), recorder.breakdown().end(), Cycle{0}),
                result.cycles);
  }
  result.breakdown = recorder.breakdown();
  result.stats = timing.stats();
  const Cycle busy = result.stats.array_busy_cycles - before.array_busy_cycles;
  const Cycle conflicts = result.stats.bank_conflict_cycles - before.bank_conflict_cycles;
  CHECK_EQUAL(result.of(Reason::kArrayBusy), busy - conflicts);
  CHECK_EQUAL(result.of(Reason::kBankConflict), conflicts);
  return result;
}

const Test busy("timing/accounting: a busy array", [] {
  Stream stream;
  for (int i = 0; i < 64; ++i) {
    stream.push_back(preload(kOtherBank, kAcc));
    stream.push_back(compute(0));
  }
  const Recorded run = record(stream);
  // A first PRELOAD and 64 COMPUTEs of 16 rows, and the way in and out.
  CHECK_EQUAL(run.of(Reason::kArrayBusy), 65 * 16);
  CHECK_EQUAL(run.of(Reason::kLoads) + run.of(Reason::kStores) + run.of(Reason::kBankConflict), 0);
  CHECK(run.of(Reason::kHostIssue) > 0 && run.of(Reason::kHostIssue) < 12);
  CHECK(run.of(Reason::kDrain) > 32);
  CHECK_EQUAL(run.of(Reason::kDependency), 0);
});

const Test loads("timing/accounting: weights that have to be loaded", [] {
  Stream stream;
  for (int i = 0; i < 16; ++i) {
    stream.push_back(mvin(kDram, 64, 16, 64));
    stream.push_back(preload(64, kAcc));
    stream.push_back(compute(0));
  }
  const Recorded run = record(stream);
  CHECK(run.of(Reason::kLoads) > 16 * 50);
  CHECK(run.of(Reason::kHostIssue) < 12);
  // The same loads to other rows: nobody waits for them but the fence.
  Stream apart;
  for (int i = 0; i < 16; ++i) {
    apart.push_back(preload(64, kAcc));
    apart.push_back(compute(0));
  }
  apart.push_back(mvin(kDram, 192, 16, 64));
  const Recorded after = record(apart);
  CHECK_EQUAL(after.of(Reason::kArrayBusy), 17 * 16);
  CHECK(after.of(Reason::kLoads) < 16);
});

const Test stores("timing/accounting: results that have to be stored", [] {
  Stream stream;
  for (int i = 0; i < 8; ++i) {
    stream.push_back(preload(64, kAcc));
    stream.push_back(compute(0));
    stream.push_back(mvout(kDram, kAcc, 16, 16));
  }
  const Recorded run = record(stream);
  CHECK(run.of(Reason::kStores) > 8 * 25);
  CHECK_EQUAL(run.of(Reason::kLoads), 0);
});

const Test conflicts("timing/accounting: operands in one bank", [] {
  Stream stream;
  for (int i = 0; i < 16; ++i) {
    stream.push_back(preload(16, kAcc));
    stream.push_back(compute(0));
  }
  const Recorded run = record(stream);
  // All but the first PRELOAD and the last COMPUTE share the bank.
  CHECK_EQUAL(run.of(Reason::kBankConflict), 15 * 16);
});

const Test dependency("timing/accounting: a CONFIG_EX that waits for an empty array", [] {
  Stream stream;
  for (int i = 0; i < 8; ++i) {
    stream.push_back(preload(64, kAcc));
    stream.push_back(compute(0));
    stream.push_back(config_ex());
  }
  CHECK(record(stream).of(Reason::kDependency) > 7 * 33);
});

const Test host("timing/accounting: a slow host", [] {
  const Stream stream = repeat(16, {preload(64, kAcc), compute(0)});
  const Recorded run = record(stream, 50);
  CHECK(run.of(Reason::kHostIssue) > 32 * 50 - run.of(Reason::kArrayBusy) - 100);
  CHECK_EQUAL(run.of(Reason::kLoads) + run.of(Reason::kStores), 0);
});

const Test copies("timing/accounting: without the array, by what fills the queues", [] {
  const Recorded reads = record(repeat(64, {mvin(kDram, 0, 16, 64)}));
  CHECK(reads.of(Reason::kLoads) > 60 * 64);
  CHECK_EQUAL(reads.of(Reason::kStores) + reads.of(Reason::kArrayBusy), 0);
  const Recorded writes = record(repeat(64, {mvout(kDram, 0, 16, 64)}));
  CHECK(writes.of(Reason::kStores) > 60 * 64);
  CHECK_EQUAL(writes.of(Reason::kLoads), 0);
});

const Test random_streams("timing/accounting: the parts of any stream add up", [] {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](uint32_t count) { return static_cast<uint32_t>(random() % count); };
    const auto spad = [&] { return 4 * pick(50); };
    const auto rows = [&] { return uint64_t{1} + pick(16); };
    Stream stream;
    while (stream.size() < 200) {
      switch (pick(8)) {
        case 0:
        case 1:
          stream.push_back(mvin(pick(5) ? kDram + 64 * pick(900) : 0, spad(), rows(), 16));
          break;
        case 2:
          stream.push_back(mvout(kDram + 64 * pick(900), pick(2) ? spad() : kAcc + pick(40), rows(),
                                 1 + pick(16)));
          break;
        case 3:
          stream.push_back(pick(4) ? config_ld(64 * pick(3), pick(3) ? 1.0f : 0.5f)
                                   : config_st(64));
          break;
        case 4:
          if (pick(8) == 0) stream.push_back(config_ex());
          break;
        default:
          stream.push_back(preload(pick(4) ? spad() : kGarbage,
                                   pick(4) ? (pick(2) ? kAcc : kAccumulate) + pick(40) : kGarbage,
                                   rows()));
          stream.push_back(compute(spad(), rows(), pick(4) ? kGarbage : spad()));
      }
    }
    const Recorded run = record(stream, pick(3) ? 1 + pick(4) : pick(80));
    CHECK(run.cycles > 0);
    for (const Cycle part : run.breakdown) CHECK(part >= 0);
  }
});

const Test loops("timing/accounting: the parts of any loops add up, and who is whose is known", [] {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](uint32_t count) { return uint64_t{random() % count}; };
    Stream stream;
    std::vector<int64_t> starts;  // of loops, by the index of what starts them
    for (int i = 0; i < 6; ++i) {
      Stream part;
      if (pick(2) != 0) {
        MatmulWords words;
        words.i = 1 + pick(3);
        words.j = 1 + pick(2);
        words.k = 1 + pick(3);
        words.d = pick(2) != 0 ? kDram : 0;
        part = words.words();
      } else {
        ConvWords words;
        words.rows = 2 + pick(3);
        words.cols = 2 + pick(10);
        words.kernel = 1 + 2 * pick(2);
        words.pad = words.kernel / 2;
        part = words.words();
      }
      stream.insert(stream.end(), part.begin(), part.end());
      starts.push_back(static_cast<int64_t>(stream.size()) - 1);
      if (pick(3) == 0) stream.push_back(compute(0));
    }
    const Stream setup = {config_st(64), config_ex(), config_ld(64, 1.0f, false, 0),
                          config_ld(64, 1.0f, false, 1), config_ld(64, 1.0f, false, 2)};
    std::map<int64_t, int64_t> computes;
    record(stream, 1 + static_cast<uint32_t>(pick(30)), setup, [&](const Slice& slice) {
      if (slice.lane == timing::Lane::kExecute) ++computes[slice.index];
    });
    for (const int64_t start : starts) CHECK(computes[start] > 0);
    for (const auto& [index, count] : computes) {
      const uint8_t funct = stream[static_cast<size_t>(index)].funct;
      CHECK(funct == kLoopWs || funct == kLoopConvWs || is_compute(funct));
    }
  }
});

const Test slices("timing/accounting: the slices of the array's lane leave no cycle out", [] {
  Cycle next = 0;
  Cycle lost = 0;
  int64_t loads = 0;
  Recorder recorder([&](const Slice& slice) {
    CHECK(slice.start <= slice.end);
    if (slice.lane == timing::Lane::kLoad && slice.command.funct == kMvin) {
      ++loads;
      CHECK(slice.entered < slice.ready && slice.ready <= slice.issued);
      CHECK(slice.issued < slice.start && slice.start < slice.completed);
    }
    if (slice.lane != timing::Lane::kArray) return;
    CHECK_EQUAL(slice.start, next);
    next = slice.end;
    lost += slice.lost;
  });
  Timing timing(timing_device());
  timing.record(&recorder);
  for (const Command& command : usual_setup()) timing.issue(command, 1);
  for (int i = 0; i < 20; ++i) {
    timing.issue(mvin(kDram, 64, 16, 64), 1);
    timing.issue(preload(64, kAcc), 1);
    timing.issue(compute(0), 1);
    timing.issue(mvout(kDram, kAcc, 16, 16), 1);
  }
  CHECK_EQUAL(static_cast<Cycle>(timing.finish()), next);
  CHECK_EQUAL(recorder.breakdown()[static_cast<size_t>(Reason::kBankConflict)], lost);
  CHECK_EQUAL(loads, 20);
});

}  // namespace
}  // namespace npu::gemmini::testing
