// Where the compiler has to inline, and where it must not; what it should take for rare.
#pragma once

// The cycle model runs a dozen small functions for every command. Called, they would cost as much
// as what they do; inlined where their queue is a constant, they need not look for its data.
#define NPU_INLINE [[gnu::always_inline]] inline
// What is rarely done stays out of them.
#define NPU_RARE [[gnu::noinline]]

namespace npu::gemmini::timing {

// The condition, which the compiler lays code out for not to hold.
NPU_INLINE bool rarely(bool condition) { return __builtin_expect(condition, false); }

}  // namespace npu::gemmini::timing
