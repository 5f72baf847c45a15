"""How the rows of a run are cut into steps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.devices.gemmini.gemm import step_sizes

DIM = preset("gemmini-16x16").dim


@given(st.integers(DIM + 1, 2000))
def test_sizes_cover_the_rows_with_as_few_steps_as_can_be(rows):
    sizes = step_sizes(rows, DIM)
    assert sum(size * times for size, times in sizes) == rows
    assert all(1 <= size <= DIM and times >= 1 for size, times in sizes)
    assert sum(times for _, times in sizes) == -(-rows // DIM)
    assert sizes[-1][0] == DIM, "the step that overlaps with the next weights is a full one"


@given(st.integers(1, DIM))
def test_few_rows_are_one_step(rows):
    assert step_sizes(rows, DIM) == [(rows, 1)]
