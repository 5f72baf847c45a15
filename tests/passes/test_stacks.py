"""Stacked loads: what their commands write is what the definition says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.device import preset
from npu_target.passes.copies import Load, Stack
from npu_target.passes.errors import CodegenError
from npu_target.passes.linear import Linear, combine
from npu_target.passes.stacks import stacked
from npu_target.passes.transfers import LoopExtent

MEMORIES = preset("gemmini-16x16").memories
DIM, PITCH = 16, 100
ROW, COLUMN = LoopExtent(-1, 9), LoopExtent(-2, DIM)


def fresh() -> int:
    return -3


def load(width: int, columns: int, first_line: int, n_lines: int, pitch: int = PITCH) -> Load:
    """`tile[r, c] = x[first_line + r + c // width, c % width]`, inside of an image of n_lines."""
    row, column = Linear.loop(ROW.loop_id), Linear.loop(COLUMN.loop_id)
    line = combine("floordiv", column, Linear(width)) + row + first_line
    valid = [line, line * -1 + (n_lines - 1)]
    if columns < DIM:
        valid.append(column * -1 + (columns - 1))
    byte = combine("floormod", column, Linear(width))
    offset = combine("floordiv", column, Linear(width)) * PITCH + row * pitch + byte
    return Load(row, column, MEMORIES.inputs, "x", offset + first_line * PITCH, 1, tuple(valid))


def holds(forms: tuple[Linear, ...], row: int, column: int) -> bool:
    values = {ROW.loop_id: Linear(row), COLUMN.loop_id: Linear(column)}
    return all(form.substitute(values).const >= 0 for form in forms)


def value(copy: Load, row: int, column: int) -> int | None:
    """The element of DRAM, None for zero."""
    values = {ROW.loop_id: Linear(row), COLUMN.loop_id: Linear(column)}
    return copy.offset.substitute(values).const if holds(copy.valid, row, column) else None


@given(st.data())
def test_each_element_is_written_by_the_row_of_its_line(data) -> None:
    width = data.draw(st.integers(2, 8))
    lines = data.draw(st.integers(2, DIM // width))
    first_line, n_lines = data.draw(st.integers(-4, 4)), data.draw(st.integers(1, 9))
    copy = load(width, width * lines, first_line, n_lines)
    found, (row, column) = stacked(copy, (ROW, COLUMN), fresh, MEMORIES)
    assert isinstance(found, Load)
    assert found.stack == Stack(width, lines)
    assert (row.extent, column) == (ROW.extent + lines - 1, COLUMN)
    written = {
        (r - line, line * width + c): value(found, r, c)
        for r in range(row.extent)
        for c in range(width)
        for line in range(lines)
    }
    for r in range(ROW.extent):
        for c in range(width * lines):
            assert written[r, c] == value(copy, r, c)


def test_a_tile_of_one_row_is_loaded_in_as_many_as_lines() -> None:
    at_start = {ROW.loop_id: Linear()}
    copy = load(5, 15, -1, 9)
    single = copy._replace(
        row=copy.row.substitute(at_start),
        offset=copy.offset.substitute(at_start),
        valid=tuple(form.substitute(at_start) for form in copy.valid),
    )
    found, loops = stacked(single, (COLUMN,), fresh, MEMORIES)
    assert loops == (COLUMN, LoopExtent(-3, 3))
    assert isinstance(found, Load)
    assert found.row == Linear.loop(-3)
    assert found.offset == Linear.loop(-3) * PITCH + Linear.loop(COLUMN.loop_id) - PITCH


def test_other_copies_stay() -> None:
    plain = Load(Linear.loop(-1), Linear.loop(-2), MEMORIES.inputs, "x", Linear.loop(-2), 1, ())
    assert stacked(plain, (ROW, COLUMN), fresh, MEMORIES) == (plain, (ROW, COLUMN))
    zeros = plain._replace(source=None)
    assert stacked(zeros, (ROW, COLUMN), fresh, MEMORIES) == (zeros, (ROW, COLUMN))


@pytest.mark.parametrize(
    "copy, message",
    [
        (load(5, 15, 0, 9, pitch=7), "not those of the rows"),
        (load(5, 12, 0, 9), "12 columns are valid of lines of 5"),
        (load(5, 15, 0, 9)._replace(memory=MEMORIES.sums), "not those of the rows"),
    ],
)
def test_no_command_does_others(copy: Load, message: str) -> None:
    with pytest.raises(CodegenError, match=message):
        stacked(copy, (ROW, COLUMN), fresh, MEMORIES)
