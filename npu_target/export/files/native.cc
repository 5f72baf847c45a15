// This machine, with the device simulated: commands are kept until the host waits for them. Cycles
// count from a cold start of each layer, as the build's do. With NET_RESULTS=FILE in the
// environment, what the device writes is left in that file.
#include <cstdlib>

#include "platform.h"
#include "simulated.h"

extern "C" {
void npu_issue(uint64_t funct, uint64_t rs1, uint64_t rs2);
void npu_wait(void);
}

namespace {

unsigned current = NET_LAYERS;
std::vector<npu::sim::Command> issued;
std::vector<Block> blocks;

Block block(const void* data) {
  return {reinterpret_cast<uint64_t>(data), static_cast<uint8_t*>(const_cast<void*>(data))};
}

}  // namespace

void npu_issue(uint64_t funct, uint64_t rs1, uint64_t rs2) {
  issued.push_back({static_cast<uint8_t>(funct), rs1, rs2});
}

void npu_wait(void) {
  simulate_layer(current, issued, blocks);
  issued.clear();
}

void net_layer_begin(unsigned layer) { current = layer; }

void net_layer_end(unsigned) {
#ifdef NPU_TRAPPED
  npu_wait();  // a fence traps nowhere
#endif
  if (!issued.empty()) fail(current, "nothing waits for the device");
  current = NET_LAYERS;
}

void platform_start(const net_input* input, net_output* output) {
  blocks = {block(input), block(output), block(net_weights), block(net_arena)};
  if (const char* path = std::getenv("NET_RESULTS")) keep_results(path);
}

uint64_t platform_count(unsigned layer) { return simulated_cycles(layer); }

const char* platform_unit(void) { return "cycles"; }

const char* platform_complaint(void) { return simulated_complaint(); }
