// The layers, each with its program.
#include "simulated.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>

#include "issued.h"
#include "net.h"

extern "C" const char net_programs[];

namespace {

using npu::sim::Command;

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
    npu::platform::compare(program, addresses, issued);
    cycles[number] = npu::platform::simulate(program, data);
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
