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

#include "sim/host_core.h"
#include "src/ffi_bytes.h"
#include "src/ffi_error.h"
#include "src/ffi_numbers.h"
#include "src/json.h"
#include "src/launch.h"
#include "src/packed_commands.h"
#include "src/session.h"
#include "src/simulators.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

// Hands slices on until the receiver wants no more.
sim::Recording recording_to(const ffi::Optional<ffi::Function>& receiver, int64_t from,
                            int64_t to) {
  sim::Recording recording;
  recording.from = from;
  recording.to = to;
  if (!receiver) return recording;
  recording.slices = [receiver = *receiver, is_wanted = true](std::string_view slices) mutable {
    if (is_wanted) {
      is_wanted = receiver(ffi::Bytes(slices.data(), slices.size())).cast<bool>();
    }
  };
  return recording;
}

int64_t difference(const sim::NamedNumbers& before, const std::string& name, int64_t now) {
  for (const auto& [key, value] : before) {
    if (key == name) return now - value;
  }
  return now;
}

sim::Stats difference(const sim::Stats& before, const sim::Stats& after) {
  sim::Stats since;
  since.cycles = after.cycles - before.cycles;
  since.commands = after.commands - before.commands;
  since.macs = after.macs - before.macs;
  since.bytes_loaded = after.bytes_loaded - before.bytes_loaded;
  since.bytes_stored = after.bytes_stored - before.bytes_stored;
  since.host_stall_cycles = after.host_stall_cycles - before.host_stall_cycles;
  for (const auto& [name, value] : after.own) {
    since.own.emplace_back(name, difference(before.own, name, value));
  }
  return since;
}

std::string run_json(const sim::Stats& stats, const sim::HostWork& before,
                     const sim::HostWork& after, const sim::Profile& profile) {
  std::string parts;
  for (const auto& [name, numbers] : profile) {
    parts += (parts.empty() ? "" : ", ") + json_string(name) + ": " + json_numbers(numbers);
  }
  return "{" + json_stats(stats) +
         ", \"host_instructions\": " + std::to_string(after.instructions - before.instructions) +
         ", \"host_once_cycles\": " + std::to_string(after.once_cycles - before.once_cycles) +
         ", \"parts\": {" + parts + "}}";
}

// Runs `once` so many times, each up to a fence. Returns a JSON array of the runs.
ffi::String repeat(sim::Simulator& simulator, const sim::HostCore& host, int64_t times,
                   const std::function<void()>& once) {
  simulator.begin_recording();
  std::string runs;
  sim::Stats before = simulator.stats();
  sim::HostWork host_before = host.work();
  for (int64_t i = 0; i < times; ++i) {
    once();
    simulator.finish();
    const sim::Stats after = simulator.stats();
    runs += (runs.empty() ? "" : ", ") +
            run_json(difference(before, after), host_before, host.work(), simulator.profile());
    before = after;
    host_before = host.work();
  }
  return "[" + runs + "]";
}

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

// A program on a device with these numbers, or on its own when there are none: (program, numbers,
// repeats, races, from, to, receiver, tensors...). Refuses races if asked to, or if launches do.
void profile_program(ffi::PackedArgs args, ffi::Any* result) {
  constexpr int kTensors = 7;
  with_ffi_errors([&] {
    sim::Program program = sim::Program::parse(view(args[0].cast<ffi::Bytes>()));
    put_on(args[1].cast<FfiNumbers>(), program);
    const std::vector<uint64_t> addresses = addresses_of(program);
    const sim::MemoryMap dram = map_arguments(program, addresses, args.Slice(kTensors));
    sim::RunOptions options = launch_options();
    options.checks_races = options.checks_races || args[3].cast<bool>();
    const auto simulator = make_simulator(program.kind, program.numbers, dram, options);
    simulator->record(recording_to(args[6].cast<ffi::Optional<ffi::Function>>(),
                                   args[4].cast<int64_t>(), args[5].cast<int64_t>()));
    sim::HostCore host(program.host);
    *result = repeat(*simulator, host, args[2].cast<int64_t>(),
                     [&] { simulator->run(program, addresses, host); });
  });
}

// A raw stream over `ram_bytes` of memory from address `ram` on; `setup` comes before, in no time.
ffi::String profile_stream(const ffi::String& kind, const FfiNumbers& fields, int64_t ram,
                           int64_t ram_bytes, const ffi::Bytes& setup, const ffi::Bytes& commands,
                           int64_t repeats, bool races, int64_t from, int64_t to,
                           const ffi::Optional<ffi::Function>& receiver) {
  return with_ffi_errors([&] {
    const sim::ConfigPairs numbers = pairs_of(fields);
    const SparseMemory memory(static_cast<uint64_t>(ram_bytes));
    sim::MemoryMap dram;
    dram.add({static_cast<uint64_t>(ram), static_cast<uint64_t>(ram_bytes), memory.data(),
              /*is_writable=*/true, "memory"});
    sim::RunOptions options = launch_options();
    options.checks_races = races;
    const auto simulator = make_simulator(kind, numbers, dram, options);
    simulator->record(recording_to(receiver, from, to));
    simulator->continue_stream();
    const auto run = [&](const std::vector<Issue>& issues) {
      for (const Issue& issue : issues) simulator->issue(issue.command, issue.host_cycles);
    };
    run(unpack_issues(view(setup)));
    simulator->finish();
    const std::vector<Issue> issues = unpack_issues(view(commands));
    const sim::HostCore host(sim::HostConfig::from_pairs(numbers));
    return repeat(*simulator, host, repeats, [&] { run(issues); });
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def_packed("npu.sim.profile_program", profile_program)
      .def("npu.sim.profile_stream", profile_stream);
}

}  // namespace npu
