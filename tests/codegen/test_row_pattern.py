"""Which rows of a memory the commands of a copy touch, against going through them one by one."""

from __future__ import annotations

from collections import Counter
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from npu_target.codegen.row_pattern import RowPattern


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(-5, 9)), max_size=3),
    st.integers(1, 3),
    st.integers(1, 20),
    st.tuples(st.integers(-2, 0), st.integers(1, 4)),
)
def test_rows_of_each_command(
    along: list[tuple[int, int]], n_blocks: int, block_rows: int, own: tuple[int, int]
) -> None:
    pattern = RowPattern(tuple(along), n_blocks, block_rows, own)
    found = []
    for indices in product(*(range(extent) for extent, _ in along)):
        first = sum(index * step for index, (_, step) in zip(indices, along, strict=True))
        rows = [first + n * block_rows + row for n in range(n_blocks) for row in range(*own)]
        assert pattern.rows[indices].tolist() == rows
        found += rows
    assert pattern.is_distinct == (max(Counter(found).values()) == 1)
