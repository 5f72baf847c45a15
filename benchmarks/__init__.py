"""Comparisons of what npu_target compiles with other ways to program the same device."""
