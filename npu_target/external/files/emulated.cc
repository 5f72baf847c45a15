// A core without the device: commands trap, are kept until the kernel is done, compared with those
// of its program, and simulated. The cycles are the simulator's.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "issued.h"
#include "run.h"

extern "C" {
extern const char npu_program[];
extern const uint64_t npu_program_bytes;
void npu_issue(uint64_t funct, uint64_t rs1, uint64_t rs2);
}

namespace {

std::vector<npu::sim::Command> issued;

uint64_t measure() {
  const auto program =
      npu::sim::Program::parse({npu_program, static_cast<size_t>(npu_program_bytes)});
  std::vector<uint8_t*> data;
  std::vector<uint64_t> addresses;
  for (unsigned i = 0; i < npu_argument_count; ++i) {
    data.push_back(npu_memory + npu_arguments[i].offset);
  }
  for (unsigned i = 0; i < npu_constant_count; ++i) {
    data.push_back(const_cast<uint8_t*>(npu_constants[i]));  // the device only reads them
  }
  for (const uint8_t* tensor : data) addresses.push_back(reinterpret_cast<uint64_t>(tensor));
  npu_call();
  npu::platform::compare(program, addresses, issued);
  return npu::platform::simulate(program, data);
}

}  // namespace

void npu_issue(uint64_t funct, uint64_t rs1, uint64_t rs2) {
  issued.push_back({static_cast<uint8_t>(funct), rs1, rs2});
}

uint64_t npu_measure(void) {
  try {
    return measure();
  } catch (const npu::sim::SimError& error) {
    std::fprintf(stderr, "NpuDeviceError %s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::exit(1);
}
