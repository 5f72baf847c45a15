// What a test needs: a name, a condition, a line to look at.
#pragma once

#include <cstdint>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>

#include "sim/error.h"

namespace npu::sim::testing {

// Registers a test; main runs all of them, or those whose names contain an argument.
struct Test {
  Test(const char* name, std::function<void()> run);
};

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

// int8_t prints as a number, not as a character.
template <typename T>
const T& shown(const T& value) {
  return value;
}
inline int shown(const int8_t& value) { return value; }

template <typename A, typename B>
void check_equal(const char* file, int line, const char* text, const A& a, const B& b) {
  if (a == b) return;
  std::ostringstream out;
  out << text << ": " << shown(a) << " is not " << shown(b);
  fail(file, line, out.str());
}

// Runs `fn`, which has to throw SimError of this kind; returns its text.
template <typename Fn>
std::string check_fails(const char* file, int line, ErrorKind kind, Fn&& fn) {
  try {
    fn();
  } catch (const SimError& error) {
    if (error.kind == kind) return error.what();
    fail(file, line, std::string("wrong kind of error: ") + error.what());
  }
  fail(file, line, std::string("no error, needs ") + error_kind_name(kind));
}

}  // namespace npu::sim::testing

#define CHECK(condition)                                                                     \
  do {                                                                                       \
    if (!(condition)) ::npu::sim::testing::fail(__FILE__, __LINE__, #condition " is false"); \
  } while (false)
#define CHECK_EQUAL(a, b) \
  ::npu::sim::testing::check_equal(__FILE__, __LINE__, #a " == " #b, (a), (b))
#define CHECK_FAILS(kind, ...)                                                      \
  ::npu::sim::testing::check_fails(__FILE__, __LINE__, ::npu::sim::ErrorKind::kind, \
                                   [&] { __VA_ARGS__; })
