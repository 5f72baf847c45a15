// npu.sim.measure_speed: what the simulator itself costs the host.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <ctime>
#include <vector>

#include "sim/host_core.h"
#include "src/ffi_bytes.h"
#include "src/ffi_error.h"
#include "src/launch.h"
#include "src/session.h"
#include "src/simulators.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

// Of this process, on all cores; the simulator uses one. Other processes' turns do not count.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

template <typename Fn>
double seconds_of(Fn&& fn) {
  const double start = processor_seconds();
  fn();
  return processor_seconds() - start;
}

// The arguments of a program, in memory of their own.
struct Tensors {
  explicit Tensors(const sim::Program& program) : addresses(addresses_of(program)) {
    add_constants(program, addresses, dram);
    for (size_t i = 0; i < program.tensors(); ++i) {
      const sim::Argument& argument = program.arguments[i];
      if (argument.bytes == 0) continue;
      bytes.emplace_back(argument.bytes, uint8_t{1});
      dram.add(
          {addresses[i], argument.bytes, bytes.back().data(), argument.is_output, argument.name});
    }
  }
  std::vector<uint64_t> addresses;
  std::vector<std::vector<uint8_t>> bytes;
  sim::MemoryMap dram;
};

// Runs a program `repeats` times for values and cycles, and as often for cycles alone. Returns
// the processor seconds of the former, of the latter, and then cycles, MACs and commands.
ffi::Array<ffi::Any> measure_speed(const ffi::Bytes& file, int64_t repeats) {
  return with_ffi_errors([&] {
    const sim::Program program = sim::Program::parse(view(file));
    const Tensors tensors(program);
    ffi::Array<double> together;
    ffi::Array<double> timing_alone;
    sim::Stats stats;
    const auto run = [&](const sim::RunOptions& options) {
      const auto simulator = make_simulator(program.kind, program.numbers, tensors.dram, options);
      sim::HostCore host(program.host);
      simulator->run(program, tensors.addresses, host);
      simulator->finish();
      stats = simulator->stats();
    };
    // What has run is known to be correct, so that the cycle model may have it unchecked.
    sim::RunOptions cycles_alone;
    cycles_alone.computes_values = false;
    for (int64_t i = 0; i < repeats; ++i) {
      together.push_back(seconds_of([&] { run(launch_options()); }));
      timing_alone.push_back(seconds_of([&] { run(cycles_alone); }));
    }
    return ffi::Array<ffi::Any>{together, timing_alone, stats.cycles, stats.macs, stats.commands};
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("npu.sim.measure_speed", measure_speed);
}

}  // namespace npu
