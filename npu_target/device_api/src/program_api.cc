// npu.program.*: program files seen from Python.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <string>
#include <vector>

#include "sim/command_counter.h"
#include "sim/host_demand.h"
#include "sim/program_run.h"
#include "src/command_classes.h"
#include "src/ffi_bytes.h"
#include "src/ffi_error.h"
#include "src/packed_commands.h"
#include "src/simulators.h"

namespace npu {
namespace {

namespace ffi = tvm::ffi;

sim::Program parse(const ffi::Bytes& bytes) { return sim::Program::parse(view(bytes)); }

// The command stream for given argument addresses, as triples of little-endian uint64.
ffi::Bytes expand(const ffi::Bytes& bytes, const ffi::Array<int64_t>& addresses) {
  return with_ffi_errors([&] {
    const sim::Program program = parse(bytes);
    std::vector<uint64_t> bound;
    for (const int64_t address : addresses) bound.push_back(static_cast<uint64_t>(address));
    std::string packed;
    int64_t commands = 0;
    sim::for_each_command(program, bound, {kMostPackedCommands, stop_if_interrupted},
                          [&](const sim::Command& command, uint32_t) {
                            if (++commands > kMostPackedCommands) {
                              throw sim::SimError(sim::ErrorKind::kTimedOut, commands,
                                                  "program '" + program.name + "': needs at most " +
                                                      std::to_string(kMostPackedCommands) +
                                                      " commands, has more");
                            }
                            append_command(packed, command);
                          });
    return ffi::Bytes(std::move(packed));
  });
}

// What a program asks of its device's host core: instructions, commands, bytes of code in loops,
// bytes of other code, and the cycles of the latter with a cold cache.
ffi::Array<int64_t> host_cost(const ffi::Bytes& bytes) {
  return with_ffi_errors([&] {
    const sim::Program program = parse(bytes);
    const sim::RunControl control{kMostPackedCommands, stop_if_interrupted};
    sim::HostDemandCounter counter(program, control);
    const sim::HostDemand demand = counter.count();
    return ffi::Array<int64_t>{
        static_cast<int64_t>(demand.instructions), static_cast<int64_t>(demand.commands),
        static_cast<int64_t>(demand.loop_bytes), static_cast<int64_t>(demand.once_bytes),
        static_cast<int64_t>(counter.once_cycles())};
  });
}

// Commands by their classes, in the order of these, and by the argument that they have the address
// of; what their words take to run, and how many there are in any case.
class ClassCounter : public sim::CommandCounter {
 public:
  ClassCounter(const sim::Program& program, const rewrite::CommandSet& commands)
      : CommandCounter(program),
        by_class(commands.classes.size(), 0),
        by_argument(program.arguments.size(), 0),
        commands_(commands) {}

  std::vector<double> by_class;
  std::vector<double> by_argument;
  double operand_steps = 0;
  double sure = 0;

 private:
  void command(const sim::Node& node, double times, double sure_times) override {
    const rewrite::CommandClass* found = commands_.find(node.funct, node.rs1.base);
    if (found != nullptr) by_class[static_cast<size_t>(found - commands_.classes.data())] += times;
    for (const sim::Operand* word : {&node.rs1, &node.rs2}) {
      operand_steps += times * static_cast<double>(word->steps.size());
      if (word->address >= 0) by_argument[program_.address(word->address).argument] += times;
    }
    sure += sure_times;
  }

  const rewrite::CommandSet& commands_;
};

// How often a program's commands likely run: of each of these classes, with the address of each
// argument; then the iterations of its loops, the additions to words that run along them, and how
// many commands run in any case.
ffi::Array<ffi::Array<double>> command_counts(const ffi::Bytes& bytes,
                                              const CommandClasses& classes) {
  return with_ffi_errors([&] {
    const sim::Program program = parse(bytes);
    const rewrite::CommandSet commands = command_set(classes);
    ClassCounter counter(program, commands);
    counter.count();
    return ffi::Array<ffi::Array<double>>{
        ffi::Array<double>(counter.by_class.begin(), counter.by_class.end()),
        ffi::Array<double>(counter.by_argument.begin(), counter.by_argument.end()),
        {counter.iterations(), counter.operand_steps, counter.sure}};
  });
}

void validate(const ffi::Bytes& bytes) {
  with_ffi_errors([&] { parse(bytes); });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("npu.program.expand", expand)
      .def("npu.program.command_counts", command_counts)
      .def("npu.program.host_cost", host_cost)
      .def("npu.program.validate", validate);
}

}  // namespace npu
