#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "check.h"

namespace npu::sim::testing {
namespace {

std::vector<std::pair<const char*, std::function<void()>>>& tests() {
  static std::vector<std::pair<const char*, std::function<void()>>> all;
  return all;
}

}  // namespace

Test::Test(const char* name, std::function<void()> run) {
  tests().emplace_back(name, std::move(run));
}

int run_all(const char* filter) {
  int run = 0;
  int failed = 0;
  for (const auto& [name, body] : tests()) {
    if (std::strstr(name, filter) == nullptr) continue;
    ++run;
    try {
      body();
    } catch (const std::exception& error) {
      ++failed;
      std::printf("FAILED %s\n  %s\n", name, error.what());
    }
  }
  std::printf("%d tests, %d failed\n", run, failed);
  return failed != 0 || run == 0 ? 1 : 0;
}

}  // namespace npu::sim::testing

int main(int argc, char** argv) { return npu::sim::testing::run_all(argc > 1 ? argv[1] : ""); }
