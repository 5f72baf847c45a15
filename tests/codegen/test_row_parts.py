"""The rows of a copy that are read, and those that become zeros."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npu_target.codegen.row_parts import RowPart, row_parts
from npu_target.device import preset
from npu_target.passes.copies import Load, Store
from npu_target.passes.linear import Linear
from npu_target.passes.transfers import Transfer

MEMORY = preset("gemmini-16x16").memories.inputs
AROUND = 1  # a loop around the copy
NONE = Linear()


def transfer(rows: int, first: Linear, end: Linear, *guards: Linear) -> Transfer:
    return Transfer((), guards, rows, first, end, 16, 1, 16, Linear(16), NONE, NONE)


def load(source: str | None) -> Load:
    return Load(NONE, NONE, MEMORY, source, NONE, 1, ())


def rows_of(part: RowPart, rows: int, iteration: int) -> list[int]:
    """The rows of the tile that a part takes in an iteration of the loop around."""
    values = {AROUND: Linear(iteration)}
    for guard in part.guards:
        forms = [form.substitute(values).const >= 0 for form in guard.forms]
        if all(forms) == guard.negated:
            return []
    first, end = part.first.substitute(values).const, part.end.substitute(values).const
    return [row for row in range(first, end) if 0 <= row < rows]


@given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 6), st.integers(-1, 1), st.booleans())
def test_each_row_of_a_load_is_read_or_zero(rows, first, length, step, guarded):
    """The first row that is read runs along a loop around; there may be nothing to read."""
    start = Linear.of(first, {AROUND: step})
    guards = (Linear.of(1, {AROUND: -1}),) if guarded else ()
    parts = row_parts(load("x"), transfer(rows, start, start + length, *guards))
    for iteration in range(4):
        begin = first + step * iteration
        if not 0 <= begin <= begin + length <= rows:
            continue  # a transfer's rows are within the tile
        is_read = not guarded or iteration <= 1
        read = set(range(begin, begin + length)) if is_read else set()
        found = [(row, part.is_filled) for part in parts for row in rows_of(part, rows, iteration)]
        assert sorted(found) == [(row, row not in read) for row in range(rows)]


def test_zeros_have_one_part_and_what_is_known_to_be_empty_has_none():
    assert row_parts(load(None), transfer(5, NONE, Linear(5))) == [
        RowPart(NONE, Linear(5), (), True)
    ]
    (part,) = row_parts(load("x"), transfer(5, NONE, Linear(5)))
    assert not part.is_filled


def test_rows_of_a_store_have_no_zeros():
    store = Store(NONE, NONE, MEMORY, "y", NONE, 1, ())
    guards = Linear.of(1, {AROUND: -1}), Linear.of(0, {AROUND: 1})
    (part,) = row_parts(store, transfer(5, Linear(1), Linear(4), *guards))
    assert (part.first, part.end, part.is_filled) == (Linear(1), Linear(4), False)
    assert [rows_of(part, 5, iteration) for iteration in (0, 1, 2)] == [[1, 2, 3], [1, 2, 3], []]
