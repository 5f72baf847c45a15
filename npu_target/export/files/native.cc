// This machine, with the device simulated: commands are kept until the host waits for them,
// compared with what the layer's program says, and run. Cycles count from a cold start of each
// layer, as the build's do.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "platform.h"
#include "sim/device_kind.h"
#include "sim/host_core.h"
#include "sim/program_run.h"

extern "C" {
extern const char net_programs[];
void npu_issue(uint64_t funct, uint64_t rs1, uint64_t rs2);
void npu_wait(void);
}

namespace {

using npu::sim::Command;

enum class Place { INPUT, OUTPUT, CONSTANT, ARENA };

struct Layer {
  struct Argument {
    Place place;
    uint64_t offset;
  };
  const char* name;
  size_t begin, bytes;  // in net_programs; no bytes: on the host
  uint64_t cycles;      // what the build says
  std::vector<Argument> arguments;
};

const Layer kLayers[NET_LAYERS] = {
#include "layers.inc"
};

const net_input* input;
net_output* output;
unsigned current = NET_LAYERS;
std::vector<Command> issued;
uint64_t cycles[NET_LAYERS];
std::string complaint;

[[noreturn]] void fail(const std::string& message) {
  std::fflush(stdout);
  const char* layer = current < NET_LAYERS ? kLayers[current].name : "outside of all layers";
  std::fprintf(stderr, "%s: %s\n", layer, message.c_str());
  std::exit(1);
}

uint8_t* pointer(const Layer::Argument& argument) {
  switch (argument.place) {
    case Place::INPUT:
      return reinterpret_cast<uint8_t*>(const_cast<net_input*>(input)) + argument.offset;
    case Place::OUTPUT:
      return reinterpret_cast<uint8_t*>(output) + argument.offset;
    case Place::CONSTANT:
      return const_cast<uint8_t*>(net_weights) + argument.offset;
    default:
      return net_arena + argument.offset;
  }
}

std::string text(const Command& command) {
  char words[64];
  std::snprintf(words, sizeof words, "%u 0x%" PRIx64 " 0x%" PRIx64, command.funct, command.rs1,
                command.rs2);
  return words;
}

// That the kernel's C issues what the program does, for tensors where they lie here.
void compare(const npu::sim::Program& program, const std::vector<uint64_t>& addresses) {
  size_t count = 0;
  npu::sim::for_each_command(program, addresses, {}, [&](const Command& wanted, uint32_t) {
    if (count == issued.size()) fail("the kernel issues too few commands");
    const Command& found = issued[count++];
    if (found.funct != wanted.funct || found.rs1 != wanted.rs1 || found.rs2 != wanted.rs2) {
      fail("command " + std::to_string(count - 1) + " is " + text(found) + ", the program has " +
           text(wanted));
    }
  });
  if (count != issued.size()) fail("the kernel issues too many commands");
}

uint64_t simulate(const npu::sim::Program& program, const std::vector<uint8_t*>& data) {
  const npu::sim::DeviceKind* kind = npu::sim::find_kind(program.kind);
  if (kind == nullptr) fail("no simulator of " + program.kind + " was built in");
  const std::vector<uint64_t> addresses = kind->addresses(program);
  npu::sim::MemoryMap dram;
  for (size_t i = 0; i < data.size(); ++i) {
    const npu::sim::Argument& argument = program.arguments[i];
    dram.add({addresses[i], argument.bytes, data[i], argument.is_output, argument.name});
  }
  npu::sim::RunOptions options;
  options.checks_races = true;
  const auto simulator = kind->simulator(program.numbers, dram, options);
  npu::sim::HostCore host(program.host);
  simulator->run(program, addresses, host);
  return simulator->finish();
}

void run(const Layer& layer) {
  const npu::sim::Program program =
      npu::sim::Program::parse({net_programs + layer.begin, layer.bytes});
  std::vector<uint8_t*> data;
  std::vector<uint64_t> addresses;
  for (const Layer::Argument& argument : layer.arguments) {
    data.push_back(pointer(argument));
    addresses.push_back(reinterpret_cast<uint64_t>(data.back()));
  }
  compare(program, addresses);
  cycles[current] = simulate(program, data);
  if (cycles[current] != layer.cycles) {
    complaint = std::string(layer.name) + " took " + std::to_string(cycles[current]) +
                " cycles, the build says " + std::to_string(layer.cycles);
  }
}

}  // namespace

void npu_issue(uint64_t funct, uint64_t rs1, uint64_t rs2) {
  issued.push_back({static_cast<uint8_t>(funct), rs1, rs2});
}

void npu_wait(void) {
  if (issued.empty()) return;
  if (current == NET_LAYERS || kLayers[current].bytes == 0) fail("commands, and no kernel");
  try {
    run(kLayers[current]);
  } catch (const npu::sim::SimError& error) {
    fail(error.what());
  }
  issued.clear();
}

void net_layer_begin(unsigned layer) { current = layer; }

void net_layer_end(unsigned) {
#ifdef NPU_TRAPPED
  npu_wait();  // a fence traps nowhere
#endif
  if (!issued.empty()) fail("nothing waits for the device");
  current = NET_LAYERS;
}

void platform_start(const net_input* in, net_output* out) {
  input = in;
  output = out;
}

uint64_t platform_cycles(unsigned layer) { return cycles[layer]; }

const char* platform_complaint(void) { return complaint.empty() ? nullptr : complaint.c_str(); }
