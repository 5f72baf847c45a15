"""Rows and columns in pieces that a command takes."""

from __future__ import annotations

import itertools
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from npu_target.codegen.operations import LoopIds
from npu_target.codegen.pieces import pieces
from npu_target.passes.linear import Linear


def covered(pieces_made, at: dict[int, Linear], most: int) -> list[int]:
    """All that pieces cover, where loops around have these values."""
    found = []
    for piece in pieces_made:
        ids = [loop.loop_id for loop in piece.loops]
        for indices in itertools.product(*(range(loop.extent) for loop in piece.loops)):
            values = {**at, **dict(zip(ids, map(Linear, indices), strict=True))}
            guards = [guard.substitute(values) for guard in piece.guards]
            if not all(form.const >= 0 for guard in guards for form in guard.forms):
                continue
            first, length = piece.start.substitute(values), piece.length.substitute(values)
            assert first.is_const and length.is_const
            assert 1 <= length.const <= piece.most <= most
            found += range(first.const, first.const + length.const)
    return found


@given(st.integers(0, 50), st.integers(0, 90), st.integers(1, 16))
def test_pieces_of_a_known_number_cover_it_once(first, length, limit):
    found = pieces(Linear(first), Linear(first + length), limit, (0, 90), LoopIds())
    assert covered(found, {}, limit) == list(range(first, first + length))
    assert len(found) <= 2
    assert sum(-(-piece.most // limit) for piece in found) <= 2


@given(st.integers(-9, 9), st.integers(-3, 3), st.integers(1, 6), st.integers(1, 16))
def test_pieces_of_a_number_that_runs_cover_it_once(base, step, extent, limit):
    """From 3 on, as many as a loop around says."""
    ids = LoopIds()
    around = ids.loop(extent)
    length = Linear.of(base, {around.loop_id: step})
    lengths = [base + step * i for i in range(extent)]
    if max(lengths) < 1:
        return
    bounds = max(0, min(lengths)), max(lengths)
    found = pieces(Linear(3), length + 3, limit, bounds, ids)
    most = [piece.most * prod(loop.extent for loop in piece.loops) for piece in found]
    assert sum(most) == bounds[1], "no piece claims more than there may be"
    for index, number in enumerate(lengths):
        numbers = covered(found, {around.loop_id: Linear(index)}, limit)
        assert numbers == list(range(3, 3 + max(0, number)))
