// Plays the device beside an emulated core that has none: starts the emulator with memory that both
// share, and runs what the core puts into its mailbox.
//
//   beside MEMORY MEMORY_BYTES MAILBOX EMULATOR ARGUMENT...   (the first three are numbers)
//
// Ends with the emulator's exit code, or 1 if the device finds something wrong.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mailbox.h"
#include "net.h"
#include "simulated.h"

namespace {

pid_t emulator;

void end_emulator() {
  if (emulator != 0) kill(emulator, SIGKILL);
}

[[noreturn]] void fail_at(const char* what) {
  std::perror(what);
  std::exit(1);
}

// The emulated core's memory, and what starts it with that memory.
class Memory {
 public:
  Memory(uint64_t address, uint64_t bytes) : address_(address), bytes_(bytes) {
    file_ = memfd_create("memory", 0);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes)) != 0) fail_at("memory");
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (data == MAP_FAILED) fail_at("memory");
    data_ = static_cast<uint8_t*>(data);
  }

  uint8_t* at(uint64_t address) const {
    if (address < address_ || address - address_ >= bytes_) {
      fail(NET_LAYERS, "the core has something outside of its memory");
    }
    return data_ + (address - address_);
  }

  // As the emulator's option.
  std::string object() const {
    return "memory-backend-file,id=memory,share=on,size=" + std::to_string(bytes_) +
           ",mem-path=/proc/self/fd/" + std::to_string(file_);
  }

 private:
  uint64_t address_, bytes_;
  uint8_t* data_;
  int file_;
};

pid_t start(const Memory& memory, char** command) {
  const std::string object = memory.object();
  std::vector<char*> arguments;
  for (; *command != nullptr; ++command) arguments.push_back(*command);
  for (const char* more : {"-machine", "memory-backend=memory", "-object", object.c_str()}) {
    arguments.push_back(const_cast<char*>(more));
  }
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) fail_at("fork");
  if (child == 0) {
    execvp(arguments[0], arguments.data());
    std::perror(arguments[0]);
    _exit(127);
  }
  return child;
}

// Whether the emulator has ended, with its exit code.
bool has_ended(int* code) {
  int status;
  const pid_t ended = waitpid(emulator, &status, WNOHANG);
  if (ended != emulator) return false;
  emulator = 0;
  *code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return true;
}

uint64_t number(const char* text) {
  char* end;
  errno = 0;
  const uint64_t value = std::strtoull(text, &end, 0);
  if (*text == 0 || *end != 0 || errno != 0) {
    std::fprintf(stderr, "%s is no number\n", text);
    std::exit(2);
  }
  return value;
}

std::vector<Block> blocks(const mailbox& box, const Memory& memory) {
  std::vector<Block> found;
  for (const uint64_t address : box.blocks) found.push_back({address, memory.at(address)});
  return found;
}

}  // namespace

int main(int count, char** given) {
  if (count < 5) {
    std::fprintf(stderr, "usage: beside MEMORY MEMORY_BYTES MAILBOX EMULATOR ARGUMENT...\n");
    return 2;
  }
  const Memory memory(number(given[1]), number(given[2]));
  auto& box = *reinterpret_cast<mailbox*>(memory.at(number(given[3])));
  auto& request = reinterpret_cast<std::atomic<uint64_t>&>(box.request);
  std::atexit(end_emulator);
  emulator = start(memory, given + 4);
  std::vector<npu::sim::Command> issued;
  int code = 1;
  while (!has_ended(&code)) {
    const uint64_t wanted = request.load(std::memory_order_acquire);
    if (wanted == MAILBOX_IDLE) {
      usleep(20);
      continue;
    }
    for (uint64_t i = 0; i < box.count; ++i) {
      const mailbox_command& command = box.commands[i];
      issued.push_back({static_cast<uint8_t>(command.funct), command.rs1, command.rs2});
    }
    if (wanted == MAILBOX_LAYER) {
      simulate_layer(static_cast<unsigned>(box.layer), issued, blocks(box, memory));
      issued.clear();
    }
    request.store(MAILBOX_IDLE, std::memory_order_release);
  }
  uint64_t cycles = 0;
  for (unsigned layer = 0; layer < NET_LAYERS; ++layer) cycles += simulated_cycles(layer);
  std::printf("%llu cycles of the simulated device\n", static_cast<unsigned long long>(cycles));
  if (const char* complaint = simulated_complaint()) {
    std::printf("WRONG: %s\n", complaint);
    return 1;
  }
  return code;
}
