// The layers, each with its program.
#include "simulated.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>

#include "net.h"
#include "sim/device_kind.h"
#include "sim/host_core.h"
#include "sim/program_run.h"

extern "C" const char net_programs[];

namespace {

using npu::sim::Command;
using Wrong = std::runtime_error;

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

uint64_t cycles[NET_LAYERS];
std::string complaint;
std::FILE* results = nullptr;

std::string text(const Command& command) {
  char words[64];
  std::snprintf(words, sizeof words, "%u 0x%" PRIx64 " 0x%" PRIx64, command.funct, command.rs1,
                command.rs2);
  return words;
}

// That the kernel's C issues what the program does, for tensors where they lie here.
void compare(const npu::sim::Program& program, const std::vector<uint64_t>& addresses,
             const std::vector<Command>& issued) {
  size_t count = 0;
  npu::sim::for_each_command(program, addresses, {}, [&](const Command& wanted, uint32_t) {
    if (count == issued.size()) throw Wrong("the kernel issues too few commands");
    const Command& found = issued[count++];
    if (found.funct != wanted.funct || found.rs1 != wanted.rs1 || found.rs2 != wanted.rs2) {
      throw Wrong("command " + std::to_string(count - 1) + " is " + text(found) +
                  ", the program has " + text(wanted));
    }
  });
  if (count != issued.size()) throw Wrong("the kernel issues too many commands");
}

uint64_t simulate(const npu::sim::Program& program, const std::vector<uint8_t*>& data) {
  const npu::sim::DeviceKind* kind = npu::sim::find_kind(program.kind);
  if (kind == nullptr) throw Wrong("no simulator of " + program.kind + " was built in");
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

void write_words(std::initializer_list<uint64_t> words) {
  for (const uint64_t word : words) {
    for (int bit = 0; bit < 64; bit += 8) std::fputc(static_cast<int>(word >> bit & 0xff), results);
  }
}

// What a layer has written, tensor by tensor, each as whole words.
void write_results(unsigned number, const npu::sim::Program& program,
                   const std::vector<uint8_t*>& data) {
  for (size_t i = 0; i < data.size(); ++i) {
    if (!program.arguments[i].is_output) continue;
    const Layer::Argument& argument = kLayers[number].arguments[i];
    const uint64_t bytes = program.arguments[i].bytes;
    write_words({number, argument.place == Place::OUTPUT, argument.offset, bytes});
    std::fwrite(data[i], 1, bytes, results);
    for (uint64_t end = bytes; end % 8 != 0; ++end) std::fputc(0, results);
  }
}

}  // namespace

void simulate_layer(unsigned number, const std::vector<Command>& issued,
                    const std::vector<Block>& blocks) {
  if (issued.empty()) return;
  if (number == NET_LAYERS || kLayers[number].bytes == 0) fail(number, "commands, and no kernel");
  const Layer& layer = kLayers[number];
  std::vector<uint8_t*> data;
  std::vector<uint64_t> addresses;
  for (const Layer::Argument& argument : layer.arguments) {
    const Block& block = blocks[static_cast<size_t>(argument.place)];
    data.push_back(block.data + argument.offset);
    addresses.push_back(block.address + argument.offset);
  }
  try {
    const npu::sim::Program program =
        npu::sim::Program::parse({net_programs + layer.begin, layer.bytes});
    compare(program, addresses, issued);
    cycles[number] = simulate(program, data);
    if (results != nullptr) write_results(number, program, data);
  } catch (const std::exception& error) {
    fail(number, error.what());
  }
  if (cycles[number] != layer.cycles) {
    complaint = std::string(layer.name) + " took " + std::to_string(cycles[number]) +
                " cycles, the build says " + std::to_string(layer.cycles);
  }
}

void keep_results(const char* path) {
  results = std::fopen(path, "wb");
  if (results == nullptr) fail(NET_LAYERS, std::string(path) + " cannot be written");
  std::atexit([] {
    write_words({NET_LAYERS, 0, 0, 0});
    std::fclose(results);
  });
}

uint64_t simulated_cycles(unsigned layer) { return cycles[layer]; }

const char* simulated_complaint() { return complaint.empty() ? nullptr : complaint.c_str(); }

void fail(unsigned number, const std::string& message) {
  std::fflush(stdout);
  const char* layer = number < NET_LAYERS ? kLayers[number].name : "outside of all layers";
  std::fprintf(stderr, "%s: %s\n", layer, message.c_str());
  std::exit(1);
}
