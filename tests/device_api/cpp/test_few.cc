// A vector of a few.
#include <algorithm>
#include <utility>

#include "check.h"
#include "sim/few.h"

namespace npu::sim::testing {
namespace {

using Numbers = Few<int, 2>;

Numbers up_to(int end) {
  Numbers numbers;
  for (int i = 0; i < end; ++i) numbers.push_back(i);
  return numbers;
}

const Test kept("a few keep their values, wherever they lie", [] {
  for (const int size : {0, 1, 2, 3, 9}) {
    Numbers numbers = up_to(size);
    CHECK_EQUAL(numbers.size(), static_cast<size_t>(size));
    CHECK_EQUAL(numbers.empty(), size == 0);
    for (int i = 0; i < size; ++i) CHECK_EQUAL(numbers[static_cast<size_t>(i)], i);
    const Numbers copy = numbers;
    CHECK(copy == numbers);
    const Numbers moved = std::move(numbers);
    CHECK(moved == copy);
    numbers = copy;
    CHECK(numbers == copy);
    numbers.push_back(-1);
    CHECK(!(numbers == copy));
    numbers = up_to(1);
    CHECK(numbers == Numbers({0}));
  }
});

const Test more("a few get more of themselves, and lose some", [] {
  Numbers numbers = {1, 2};
  numbers.push_back(numbers[0]);
  CHECK(numbers == Numbers({1, 2, 1}));
  const Numbers others = up_to(3);
  numbers.append(others.begin(), others.end());
  numbers.erase(std::remove(numbers.begin(), numbers.end(), 1), numbers.end());
  CHECK(numbers == Numbers({2, 0, 2}));
  numbers.erase(numbers.begin(), numbers.begin() + 1);
  CHECK(numbers == Numbers({0, 2}));
});

}  // namespace
}  // namespace npu::sim::testing
