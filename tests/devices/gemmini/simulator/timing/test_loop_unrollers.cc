// The unrollers: who issues when, and what a loop makes its neighbours wait for.
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "../loops/loop_words.h"
#include "device_api/cpp/check.h"
#include "gemmini/simulator/timing/loop_unrollers.h"
#include "stream.h"

namespace npu::gemmini::testing {
namespace {

using timing::Cycle;
using timing::kNever;
using timing::LoopUnrollers;
using timing::Queue;
using timing::ReservationStation;

// An unroller before a reservation station whose commands complete when the test says so.
class Bench {
 public:
  Bench() : config_(timing_device()), station_(config_), decoder_(config_) {}

  void take(const std::vector<Command>& commands, Cycle now) {
    for (const Command& command : commands) {
      passed_ = std::max(passed_ + 1, unrollers_.passes(command, now));
      CHECK(passed_ < kNever);
      unrollers_.take(command, 0, passed_);
    }
  }
  // Runs until nothing can leave before `until`. Returns what left: a letter per command.
  std::string run(Cycle until = kNever) {
    std::string left;
    while (unrollers_.next_step() < until) {
      const Cycle now = unrollers_.next_step();
      CHECK(now > last_ || last_ < 0);
      last_ = now;
      const LoopUnrollers::Issue issue = unrollers_.step(now);
      const Queue queue = timing::OperationDecoder::queue_of(issue.command);
      CHECK(station_.has_room(queue, now));
      const ReservationStation::Id id = station_.reserve(queue);
      decoder_.decode(issue.command, station_.operation(id));
      station_.enter(queue, issue.command.funct == kConfig, id, issue.enters);
      if (issue.command.funct != kConfig) held_[static_cast<size_t>(queue)].push_back(id);
      left += letter(issue.command);
    }
    return left;
  }
  // The oldest commands of a queue complete in cycle `when`.
  void complete(Queue queue, int count, Cycle when) {
    auto& ids = held_[static_cast<size_t>(queue)];
    for (; count > 0 && !ids.empty(); --count) {
      station_.take(queue);
      station_.complete(queue, ids.front(), when);
      ids.pop_front();
    }
  }
  // Runs to the end, everything completing at once whenever the unrollers are stuck.
  std::string run_through() {
    std::string left;
    for (int round = 0; round < 100 && (unrollers_.is_active() || round == 0); ++round) {
      left += run();
      for (const Queue queue : {Queue::kLoad, Queue::kExecute, Queue::kStore}) {
        complete(queue, 100, last_ + 5);
      }
    }
    CHECK(!unrollers_.is_active());
    return left;
  }
  Cycle last() const { return last_; }
  Cycle passes(const Command& command, Cycle now) const { return unrollers_.passes(command, now); }

 private:
  static char letter(const Command& command) {
    switch (command.funct) {
      case kMvin:
        return 'a';
      case kMvin2:
        return 'b';
      case kMvin3:
        return 'd';
      case kPreload:
        return 'p';
      case kMvout:
        return 's';
      case kConfig:
        return '.';
      default:
        return 'c';
    }
  }

  const Config config_;
  ReservationStation station_;
  timing::OperationDecoder decoder_;
  LoopUnrollers unrollers_{config_, station_};
  std::deque<ReservationStation::Id> held_[timing::kQueues];
  Cycle passed_ = 0;
  Cycle last_ = -1;
};

MatmulWords blocks(uint64_t i, uint64_t j, uint64_t k) {
  MatmulWords words;
  words.i = i;
  words.j = j;
  words.k = k;
  return words;
}

const Test order("timing/loops: stores before computes, those before loads, B until it is ahead",
                 [] {
                   Bench bench;
                   bench.take(blocks(2, 1, 2).words(), 10);
                   // B's first block, then A's of i = 0, and (k, j, i) = (0, 0, 0) may go; A's of
                   // i = 1, and (0, 0, 1) may. With the last k each i is stored when computed.
                   CHECK_EQUAL(bench.run_through(), "bapcapcbpcspcs");
                 });

const Test all_of_d("timing/loops: computes wait for all of D", [] {
  Bench bench;
  MatmulWords words = blocks(1, 1, 2);
  words.d = kDram;
  bench.take(words.words(), 10);
  CHECK_EQUAL(bench.run_through(), "dbapcbpcs");
});

const Test begins("timing/loops: the first command leaves two cycles after LOOP_WS passed", [] {
  Bench bench;
  bench.take(blocks(1, 1, 1).words(), 10);  // LOOP_WS itself passes in cycle 15
  CHECK_EQUAL(bench.run(17), "b");
  CHECK_EQUAL(bench.last(), 16);
});

const Test entries("timing/loops: no more loads under way than the station has entries", [] {
  Bench bench;
  bench.take(blocks(5, 1, 4).words(), 10);
  // A takes 5 loads, each of all k, B one per k.
  CHECK_EQUAL(bench.run().size(), size_t{8 + 16});
  bench.complete(Queue::kLoad, 1, 100);
  const Cycle before = bench.last();
  CHECK_EQUAL(bench.run(101), "");
  CHECK_EQUAL(bench.run(102), "b");
  CHECK_EQUAL(bench.last(), 101);
  CHECK(before < 50);
});

const Test two_loops("timing/loops: two at once, the older one's loads first", [] {
  Bench bench;
  bench.take(blocks(1, 1, 2).words(), 10);
  bench.take(blocks(1, 1, 1).words(), 10);
  // Nothing completes: both loops' loads leave, and their computes.
  CHECK_EQUAL(bench.run(), "bapcbpcsbapcs");
  // A third one waits for the first to be over, which it is: all of its commands have left.
  CHECK(bench.passes({kLoopWsConfigFirst, 0, 0}, 0) < kNever);
});

const Test third_loop("timing/loops: a third one's registers are free when the first is over", [] {
  Bench bench;
  bench.take(blocks(1, 1, 12).words(), 10);  // 24 computes, 16 entries
  bench.take(blocks(1, 1, 1).words(), 10);
  bench.run();
  const Command config = blocks(1, 1, 1).words().front();
  CHECK(bench.passes(config, 0) >= kNever);
  CHECK(bench.passes(config_ld(16), 0) >= kNever);  // the host's own wait for both
  for (int round = 0; round < 3; ++round) {
    bench.complete(Queue::kLoad, 8, bench.last() + 5);
    bench.complete(Queue::kExecute, 16, bench.last() + 5);
    bench.run();
  }
  CHECK(bench.passes(config, 0) < kNever);
  CHECK(bench.passes(config_ld(16), 0) >= bench.passes(config, 0));
});

const Test residual("timing/loops: residual add takes A, then B, then stores", [] {
  Bench bench;
  MatmulWords words = blocks(2, 1, 0);
  words.rs2 = 4;
  bench.take(words.words(), 10);
  CHECK_EQUAL(bench.run_through(), "aabsbs");
});

const Test left_out("timing/loops: a part that is left out is waited for by nobody", [] {
  Bench bench;
  MatmulWords words = blocks(1, 1, 1);
  words.rs2 = 3 << 3;  // no loads of A and B
  bench.take(words.words(), 10);
  CHECK_EQUAL(bench.run_through(), "pcs");
  words.rs2 = 1 << 6;  // no computes
  bench.take(words.words(), bench.last() + 10);
  CHECK_EQUAL(bench.run_through(), "sba");
});

const Test conv_waits("timing/loops: a convolution computes when all is loaded, stores at the end",
                      [] {
                        Bench bench;
                        ConvWords words;
                        words.rows = 1;
                        words.cols = 2;
                        bench.take(words.words(), 10);
                        CHECK_EQUAL(bench.run_through(), ".d.b.apcs");
                      });

const Test conv_begins("timing/loops: a convolution's first command leaves after its pipeline", [] {
  Bench bench;
  bench.take(ConvWords().words(), 10);  // LOOP_CONV_WS passes in cycle 16
  CHECK_EQUAL(bench.run(19), ".");
  CHECK_EQUAL(bench.last(), 18);
});

const Test conv_next("timing/loops: the next convolution loads while this one computes", [] {
  Bench bench;
  ConvWords words;
  words.kernel = 2;  // 24 computes, 16 entries
  bench.take(words.words(), 10);
  bench.take(words.words(), 10);
  const std::string left = bench.run_through();
  // All of the first loop's loads, then its computes and the second one's loads together.
  const size_t first_compute = left.find('p');
  const size_t last_compute = left.rfind('c', left.find('s'));
  CHECK(left.substr(0, first_compute).find("..") == std::string::npos);
  CHECK(left.substr(first_compute, last_compute - first_compute).find('d') != std::string::npos);
});

const Test mixed("timing/loops: loops of one kind wait for those of the other", [] {
  Bench bench;
  bench.take(ConvWords().words(), 10);
  CHECK(bench.passes({kLoopWsConfigFirst, 0, 0}, 0) >= kNever);
  CHECK(bench.passes({kLoopConvWsConfigFirst, 0, 0}, 0) < kNever);
  bench.run_through();
  bench.take(blocks(1, 1, 2).words(), bench.last());
  bench.take(ConvWords().words(), bench.last());
  const std::string left = bench.run_through();
  CHECK_EQUAL(left.substr(0, 8), "bapcbpcs");
});

// Through the whole model.
Stream words_of(const MatmulWords& words, int times) { return repeat(times, words.words()); }

const Test overlap("timing/loops: loops overlap, up to two", [] {
  MatmulWords words = blocks(2, 2, 2);
  words.c = kDram + 4096;
  Stream setup = usual_setup();
  for (const uint64_t id : {1, 2}) setup.push_back(config_ld(64, 1.0f, false, id));
  const auto cost_of = [&](int times) {
    return cost(timing_device(), words_of(words, times), setup).warm;
  };
  const uint64_t one = cost_of(1);
  CHECK(cost_of(2) < 2 * one - 100);
  CHECK(cost_of(4) - cost_of(2) > one / 2);
  const double early = static_cast<double>(cost_of(6) - cost_of(4));
  const double late = static_cast<double>(cost_of(8) - cost_of(6));
  CHECK(std::abs(late / early - 1) < 0.1);
});

const Test counts("timing/loops: a loop counts as its commands, its work as what it does", [] {
  Stream setup = usual_setup();
  for (const uint64_t id : {1, 2}) setup.push_back(config_ld(64, 1.0f, false, id));
  MatmulWords words = blocks(2, 1, 3);
  words.k_pad = 5;
  const timing::Stats stats = cost(timing_device(), words.words(), setup).stats;
  CHECK_EQUAL(stats.commands, int64_t{5 + 2 * 6});
  CHECK_EQUAL(stats.macs, int64_t{2 * 32 * 16 * 43});
  // B's absent rows are read: 48 rows of 16, and A's 32 of 43; C's 32 of 16.
  CHECK_EQUAL(stats.bytes_loaded, int64_t{2 * (48 * 16 + 32 * 43)});
  CHECK_EQUAL(stats.bytes_stored, int64_t{2 * 32 * 16});
});

}  // namespace
}  // namespace npu::gemmini::testing
