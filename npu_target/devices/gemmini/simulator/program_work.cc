#include "gemmini/simulator/program_work.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "gemmini/simulator/command.h"
#include "gemmini/simulator/config.h"
#include "sim/command_counter.h"

namespace npu::gemmini {
namespace {

constexpr double kSumBytes = 4;
// Local addresses are below the sizes: the columns, and above them the rows.
constexpr int kSizesFromBit = 32;
constexpr int kRowsFromBit = 48;
constexpr uint32_t kAccumulatorBit = uint32_t{1} << 31;

using Reads = std::map<uint32_t, double>;  // how often array steps read each bank

bool is_multiple(int64_t value, int bit) { return (value & ((int64_t{1} << bit) - 1)) == 0; }

// Whether what runs of a word is its local address only.
bool has_fixed_sizes(const sim::Operand& word) {
  constexpr auto kReach = static_cast<int64_t>(UINT32_MAX);
  return word.general.empty() &&
         std::all_of(word.steps.begin(), word.steps.end(), [](const sim::Operand::Step& step) {
           const auto by = static_cast<int64_t>(step.increment);
           return by >= -kReach && by <= kReach;
         });
}

// Of a load that writes zeros.
bool is_nothing(const sim::Operand& word) {
  return word.base == 0 && word.address < 0 && word.steps.empty() && word.general.empty();
}

class Counter : public sim::CommandCounter {
 public:
  explicit Counter(const sim::Program& program)
      : CommandCounter(program), config_(Config::from_pairs(program.numbers)) {}

  ProgramWork work() {
    count();
    work_.iterations = iterations();
    work_.array_cycles = array_cycles();
    return work_;
  }

 private:
  struct Sizes {
    double columns;
    double rows;
  };

  // A run of the array takes a compute, the preload after it, or both. With new weights it is as
  // long as these have rows; the longest computes may be those that hide behind it.
  double array_cycles() const {
    double hidden = sure_weight_changes_;
    double cycles = hidden * static_cast<double>(config_.dim);
    for (const auto& [rows, count] : sure_rows_) {
      cycles += std::max(0.0, count - hidden) * rows;
      hidden = std::max(0.0, hidden - count);
    }
    return cycles;
  }

  uint32_t local(const sim::Operand& word) const { return static_cast<uint32_t>(middle(word)); }

  // The flags of a local address, whatever its row: one below 0, in iterations that a condition
  // leaves out, has borrowed from them.
  LocalOperand flags(uint32_t local) const {
    return LocalOperand(static_cast<uint32_t>(local + config_.spad_rows()));
  }

  uint32_t bank(uint32_t local) const {
    return (local & ~kAccumulatorBit) / static_cast<uint32_t>(config_.spad_bank_rows);
  }

  // What the field that they share has, with the mean of what is no sum.
  Sizes sizes(const sim::Operand& word) {
    const LocalOperand start(middle(word));
    auto columns = static_cast<double>(start.cols);
    auto rows = static_cast<double>(start.rows);
    for (const sim::Operand::General& term : word.general) {
      const auto factor = static_cast<int64_t>(term.coefficient);
      const std::optional<double> mean = mean_extent(term.expr);
      if (!mean || !is_multiple(factor, kSizesFromBit)) continue;
      const bool is_rows = is_multiple(factor, kRowsFromBit);
      const int from_bit = is_rows ? kRowsFromBit : kSizesFromBit;
      (is_rows ? rows : columns) += *mean * static_cast<double>(factor >> from_bit);
    }
    return {std::nearbyint(columns), std::nearbyint(rows)};
  }

  // Transfers of the bus for a row.
  double beats(double row_bytes) const {
    return std::ceil(row_bytes / static_cast<double>(config_.bus_bytes));
  }

  void command(const sim::Node& node, double times, double sure) override {
    work_.commands += times;
    work_.sure_commands += sure;
    work_.operand_steps +=
        times * static_cast<double>(node.rs1.steps.size() + node.rs2.steps.size());
    if (is_mvin(node.funct)) {
      load(node, times, sure);
    } else if (node.funct == kMvout) {
      store(node, times, sure);
    } else if (is_compute(node.funct)) {
      compute(node, times, sure);
    } else if (node.funct == kPreload) {
      preload(node, times, sure);
    } else if (node.funct == kConfig) {
      work_.configurations += times;
      work_.pools |= (node.rs1.base & 3) == kConfigSt && bits(node.rs1.base, 5, 4) != 0;
    }
  }

  void load(const sim::Node& node, double times, double sure) {
    const Sizes size = sizes(node.rs2);
    const uint32_t address = local(node.rs2);
    work_.loads += times;
    work_.loaded_rows += times * size.rows;
    if (is_nothing(node.rs1)) {
      work_.zero_loads += times;
      return;
    }
    const bool is_for_sums = flags(address).is_acc();
    const double row_bytes = size.columns * (is_for_sums ? kSumBytes : 1);
    const double likely_beats = times * size.rows * beats(row_bytes);
    work_.loaded_bytes += times * size.rows * row_bytes;
    work_.load_beats += likely_beats;
    // Sums may be loaded from one byte an element.
    work_.sure_load_beats +=
        sure * (has_fixed_sizes(node.rs2) ? size.rows * beats(size.columns) : 1);
    if (is_for_sums) work_.accumulator_loads += times;
    if (!reads_) return;
    work_.overlapped_loads += times;
    work_.overlapped_load_beats += likely_beats;
    if (is_for_sums) return;
    double all = 0;
    for (const auto& [bank, count] : *reads_) all += count;
    const auto found = reads_->find(bank(address));
    const double meets = all > 0 && found != reads_->end() ? found->second / all : 0;
    work_.bank_conflicts += std::nearbyint(times * size.rows * meets);
  }

  void store(const sim::Node& node, double times, double sure) {
    const Sizes size = sizes(node.rs2);
    const bool is_full_width = flags(local(node.rs2)).is_full_width();
    const double row_bytes = size.columns * (is_full_width ? kSumBytes : 1);
    const double each = size.rows * beats(row_bytes);
    work_.stores += times;
    work_.stored_bytes += times * size.rows * row_bytes;
    work_.store_beats += times * each;
    work_.sure_store_beats += sure * (has_fixed_sizes(node.rs2) ? each : 1);
    if (!reads_) return;
    work_.overlapped_stores += times;
    work_.overlapped_store_beats += times * each;
  }

  void compute(const sim::Node& node, double times, double sure) {
    const Sizes size = sizes(node.rs1);
    work_.computes += times;
    work_.computed_rows += times * size.rows;
    sure_rows_[has_fixed_sizes(node.rs1) ? size.rows : 1] += sure;
    if (weights_bank_ == bank(local(node.rs1))) work_.operand_conflicts += times;
  }

  void preload(const sim::Node& node, double times, double sure) {
    const LocalOperand weights(middle(node.rs1));
    if (weights.is_garbage()) return;
    weights_bank_ = bank(weights.address);
    work_.weight_changes += times;
    if (has_fixed_sizes(node.rs1)) sure_weight_changes_ += sure;
  }

  // Commands in a loop with array steps are told how often these read each scratchpad bank, by
  // where their operands start.
  bool begin(const sim::Node& loop) override {
    Reads reads;
    sim::for_each_likely(program_, loop.body, 1, [&](const sim::Node& node, double times) {
      if (node.funct != kPreload && !is_compute(node.funct)) return;
      const LocalOperand operand(middle(node.rs1));
      if (!operand.is_garbage()) reads[bank(operand.address)] += times;
    });
    if (reads.empty()) return false;
    reads_ = std::move(reads);
    return true;
  }
  void end() override { reads_.reset(); }

  const Config config_;
  ProgramWork work_;
  double sure_weight_changes_ = 0;
  std::map<double, double, std::greater<>> sure_rows_;  // computes by their rows
  std::optional<uint32_t> weights_bank_;
  std::optional<Reads> reads_;
};

}  // namespace

ProgramWork work_of(const sim::Program& program) { return Counter(program).work(); }

}  // namespace npu::gemmini
