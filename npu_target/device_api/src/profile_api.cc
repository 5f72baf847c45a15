// npu.sim.profile_*: programs and raw streams, run for where their cycles go.
#include <sys/mman.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../sim/byte_reader.h"
#include "../sim/simulator.h"
#include "../sim/timing/recorder.h"
#include "ffi_config.h"
#include "ffi_error.h"
#include "launch.h"
#include "session.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;
using sim::timing::Cycle;
using sim::timing::Recorder;
using sim::timing::Slice;
using sim::timing::Stats;

std::string_view view(const ffi::Bytes& bytes) { return {bytes.data(), bytes.size()}; }

// Collects slices, packed as little-endian words, and hands them on many at a time, until the
// receiver wants no more.
class SliceBuffer {
 public:
  explicit SliceBuffer(ffi::Function receiver) : receiver_(std::move(receiver)) {}

  void add(const Slice& slice) {
    if (!is_wanted_) return;
    for (const int64_t word :
         {static_cast<int64_t>(slice.lane), slice.start, slice.end, slice.index,
          int64_t{slice.command.funct}, static_cast<int64_t>(slice.command.rs1),
          static_cast<int64_t>(slice.command.rs2), slice.entered, slice.ready, slice.issued,
          slice.completed, static_cast<int64_t>(slice.waited_for), slice.waited_for_index,
          static_cast<int64_t>(slice.reason), slice.lost}) {
      const uint64_t bits = static_cast<uint64_t>(word);
      for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(bits >> shift & 0xFF);
    }
    if (bytes_.size() >= kFlushBytes) flush();
  }
  void flush() {
    if (is_wanted_ && !bytes_.empty()) is_wanted_ = receiver_(ffi::Bytes(bytes_)).cast<bool>();
    bytes_.clear();
  }

 private:
  static constexpr size_t kFlushBytes = size_t{1} << 19;
  ffi::Function receiver_;
  std::string bytes_;
  bool is_wanted_ = true;
};

// A recorder, and what it recorded of each run.
class Profile {
 public:
  Profile(const ffi::Optional<ffi::Function>& receiver, int64_t from, int64_t to)
      : buffer_(receiver ? *receiver : ffi::Function()),
        recorder_(receiver ? [this](const Slice& slice) { buffer_.add(slice); }
                           : sim::timing::SliceSink(),
                  from, to) {}

  // Runs `once` so many times, each up to a fence.
  void repeat(sim::Simulator& simulator, int64_t times, const std::function<void()>& once) {
    recorder_.set_origin(simulator.stats().cycles);
    Stats before = simulator.stats();
    sim::HostWork host_before = simulator.host_work();
    for (int64_t i = 0; i < times; ++i) {
      once();
      simulator.finish();
      const Stats after = simulator.stats();
      const sim::HostWork host_after = simulator.host_work();
      add(before, after, host_before, host_after);
      before = after;
      host_before = host_after;
    }
    buffer_.flush();
  }
  Recorder& recorder() { return recorder_; }
  ffi::String json() const { return "[" + runs_ + "]"; }

 private:
  void add(const Stats& before, const Stats& after, const sim::HostWork& host_before,
           const sim::HostWork& host_after) {
    const std::pair<const char*, int64_t> numbers[] = {
        {"cycles", after.cycles - before.cycles},
        {"macs", after.macs - before.macs},
        {"commands", after.commands - before.commands},
        {"bytes_loaded", after.bytes_loaded - before.bytes_loaded},
        {"bytes_stored", after.bytes_stored - before.bytes_stored},
        {"l2_hits", after.l2_hits - before.l2_hits},
        {"l2_misses", after.l2_misses - before.l2_misses},
        {"host_instructions",
         static_cast<int64_t>(host_after.instructions - host_before.instructions)},
        {"host_once_cycles",
         static_cast<int64_t>(host_after.once_cycles - host_before.once_cycles)},
    };
    std::string run;
    for (const auto& [name, value] : numbers) {
      run += "\"" + std::string(name) + "\": " + std::to_string(value) + ", ";
    }
    run += "\"breakdown\": [";
    for (const Cycle cycles : recorder_.breakdown()) run += std::to_string(cycles) + ", ";
    run.resize(run.size() - 2);
    run += "], \"issued\": " + counts(recorder_.issued());
    run += ", \"unrolled\": " + counts(recorder_.unrolled());
    runs_ += (runs_.empty() ? "{" : ", {") + run + "}";
  }
  static std::string counts(const Recorder::Counts& counts) {
    std::string all;
    for (size_t kind = 0; kind < counts.size(); ++kind) {
      if (counts[kind] == 0) continue;
      all += (all.empty() ? "\"" : ", \"") + std::to_string(kind) +
             "\": " + std::to_string(counts[kind]);
    }
    return "{" + all + "}";
  }

  SliceBuffer buffer_;
  Recorder recorder_;
  std::string runs_;
};

// Memory that costs what is touched of it.
class SparseMemory {
 public:
  explicit SparseMemory(uint64_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) TVM_FFI_THROW(MemoryError) << "no address space for simulated DRAM";
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  ~SparseMemory() { munmap(data_, bytes_); }
  uint8_t* data() const { return static_cast<uint8_t*>(data_); }

 private:
  const uint64_t bytes_;
  void* data_;
};

struct Issue {
  uint32_t host_cycles;
  sim::Command command;
};

// Packed as words of little-endian uint64: host_cycles, funct, rs1, rs2.
std::vector<Issue> unpack_issues(const ffi::Bytes& bytes) {
  sim::ByteReader in(view(bytes), "command stream");
  std::vector<Issue> issues;
  while (in.remaining() != 0) {
    const uint64_t host_cycles = in.u64();
    const uint64_t funct = in.u64();
    if (funct > 127) in.fail("needs a funct of 0 to 127, has " + std::to_string(funct));
    const uint64_t rs1 = in.u64();
    const uint64_t rs2 = in.u64();
    issues.push_back({static_cast<uint32_t>(host_cycles), {static_cast<uint8_t>(funct), rs1, rs2}});
  }
  return issues;
}

// A program on a device with these numbers, or on its own when there are none: (program, config,
// repeats, races, from, to, receiver, tensors...). Refuses races if asked to, or if launches do.
void profile_program(ffi::PackedArgs args, ffi::Any* result) {
  constexpr int kTensors = 7;
  with_ffi_errors([&] {
    sim::Program program = sim::Program::parse(view(args[0].cast<ffi::Bytes>()));
    const auto fields = args[1].cast<ffi::Map<ffi::String, int64_t>>();
    if (!fields.empty()) program.config = config_of(fields);
    const std::vector<uint64_t> addresses = program.default_addresses();
    const sim::MemoryMap dram = map_arguments(program, addresses, args.Slice(kTensors));
    Profile profile(args[6].cast<ffi::Optional<ffi::Function>>(), args[4].cast<int64_t>(),
                    args[5].cast<int64_t>());
    sim::Simulator simulator(program.config, dram, current_limits(), stop_if_interrupted);
    simulator.record(&profile.recorder());
    if (args[3].cast<bool>() || checks_races()) simulator.check_races();
    profile.repeat(simulator, args[2].cast<int64_t>(), [&] { simulator.run(program, addresses); });
    *result = profile.json();
  });
}

// A raw stream over `ram_bytes` of memory from address `ram` on; `setup` comes before, in no time.
ffi::String profile_stream(const ffi::Map<ffi::String, int64_t>& fields, int64_t ram,
                           int64_t ram_bytes, const ffi::Bytes& setup, const ffi::Bytes& commands,
                           int64_t repeats, bool races, int64_t from, int64_t to,
                           const ffi::Optional<ffi::Function>& receiver) {
  return with_ffi_errors([&] {
    const sim::Config config = config_of(fields);
    const SparseMemory memory(static_cast<uint64_t>(ram_bytes));
    sim::MemoryMap dram;
    dram.add({static_cast<uint64_t>(ram), static_cast<uint64_t>(ram_bytes), memory.data(),
              /*is_writable=*/true, "memory"});
    Profile profile(receiver, from, to);
    sim::Simulator simulator(config, dram, current_limits(), stop_if_interrupted);
    simulator.record(&profile.recorder());
    if (races) simulator.check_races();
    simulator.clear_array();
    const auto run = [&](const std::vector<Issue>& issues) {
      for (const Issue& issue : issues) simulator.run(issue.command, issue.host_cycles);
    };
    profile.recorder().set_origin(sim::timing::kNever);
    run(unpack_issues(setup));
    simulator.finish();
    const std::vector<Issue> issues = unpack_issues(commands);
    profile.repeat(simulator, repeats, [&] { run(issues); });
    return profile.json();
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def_packed("npu.sim.profile_program", profile_program)
      .def("npu.sim.profile_stream", profile_stream);
}

}  // namespace npu
