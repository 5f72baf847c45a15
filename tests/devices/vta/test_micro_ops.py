"""The table of micro-ops: every iteration finds the rows of its command."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.devices.vta import PRESETS, VtaConfig
from npu_target.devices.vta.isa import micro_op
from npu_target.devices.vta.micro_ops import MicroOps, Rows
from npu_target.passes.errors import CodegenError, DoesNotFit
from npu_target.passes.linear import Linear, combine

CONFIG = PRESETS[0]
BLOCK = 4
LOOPS = {1: 3, 2: 4, 5: 2}


@st.composite
def forms(draw: st.DrawFn, unit: int = 1) -> Linear:
    """Rows over some of the loops, in a ring of versions perhaps."""
    form = Linear(draw(st.integers(0, 20)) * unit)
    for loop_id in draw(st.sets(st.sampled_from(sorted(LOOPS)))):
        form = form + Linear.loop(loop_id) * (draw(st.integers(1, 9)) * unit)
    if draw(st.booleans()):
        version = combine("floormod", Linear.loop(2) + draw(st.integers(0, 1)), Linear(2))
        form = form + version * (40 * unit)
    return form


@given(st.lists(st.builds(Rows, forms(), forms(), forms(BLOCK), st.just(BLOCK)), max_size=4))
def test_each_iteration_finds_its_rows(commands: list[Rows]) -> None:
    table = MicroOps(CONFIG)
    indices = [table.index(rows, LOOPS) for rows in commands]
    words = np.frombuffer(table.constant().data, "<u4")
    assert len(words) == table.number
    for rows, index in zip(commands, indices, strict=True):
        assert not index.general, "an index advances by additions"
        for values in itertools.product(*map(range, LOOPS.values())):
            known = dict(zip(LOOPS, values, strict=True))
            at = index.base + sum(by * known[loop_id] for loop_id, by in index.steps)
            forms = {loop_id: Linear(value) for loop_id, value in known.items()}
            dst, src, wgt = (form.substitute(forms).const for form in rows[:3])
            assert words[at] == micro_op(dst, src, wgt // BLOCK)


def test_equal_commands_share_entries() -> None:
    table = MicroOps(CONFIG)
    rows = Rows(Linear.loop(2) * 3, Linear(7))
    assert table.index(rows, LOOPS) == table.index(rows, LOOPS)
    assert table.number == LOOPS[2]


def test_rows_of_iterations_that_are_left_out_may_be_none() -> None:
    table = MicroOps(CONFIG)
    rows = Rows(Linear.loop(2) * 3 - 3)
    table.index(rows, LOOPS, guarded=True)
    assert np.frombuffer(table.constant().data, "<u4").tolist() == [0, 0, 3, 6]


def test_what_does_not_fit_says_so() -> None:
    small = VtaConfig(name="small", log_uop_buffer_bytes=4)
    rows = Rows(Linear.loop(1) + Linear.loop(2) * 9)
    with pytest.raises(DoesNotFit, match=r"12 combinations of rows.* of small has 4"):
        MicroOps(small).index(rows, LOOPS)
    many = {1: 3, 2: 1 << 20}
    with pytest.raises(DoesNotFit, match=f"{math.prod(many.values())} combinations"):
        MicroOps(small).index(rows, many)
    with pytest.raises(CodegenError, match="inside of a block"):
        MicroOps(CONFIG).index(Rows(Linear(), Linear(), Linear(2), BLOCK), LOOPS)
