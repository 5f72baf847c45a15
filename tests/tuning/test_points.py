from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_target.schedule_rules.traces import Structure
from npu_target.topi.blocking import divisors
from npu_target.tuning.points import Point, PointLimit, PointLimits, PointSpace

SAMPLE = ["SamplePerfectTile", [], [2, 65536], []]


def trace_of(*extents: int, name: str = "") -> list:
    """A trace that samples a tile of loops of these extents."""
    instructions = [["GetLoops", [name], [], []], *[SAMPLE for _ in extents]]
    return [instructions, [[1 + index, [extent, 1]] for index, extent in enumerate(extents)]]


def space_of(*traces) -> PointSpace:
    return PointSpace([Structure.of(trace) for trace in traces], random.Random(0))


@given(st.integers(1, 5000))
def test_divisors_are_all_divisors(value):
    assert divisors(value) == [d for d in range(1, value + 1) if value % d == 0]


@given(st.lists(st.lists(st.integers(1, 12), max_size=3), min_size=1, max_size=4))
def test_every_point_is_given_out_once(structures):
    space = space_of(*[trace_of(*extents, name=str(i)) for i, extents in enumerate(structures)])
    total = len(space)
    given_out = []
    while points := space.draw(3):
        assert len(points) == len(set(points)) == min(3, len(space))
        for point in points:
            assert space.find(space.trace(point)) == point
            assert space.take(point)
        given_out += points
    assert len(given_out) == len(set(given_out)) == total
    assert len(space) == 0


def test_a_trace_has_the_tiles_of_its_point():
    structure = Structure.of(trace_of(12, 7))
    assert structure.trace((4, 7)) == [structure.instructions, [[1, [3, 4]], [2, [1, 7]]]]
    assert structure.size == 6 * 2


def test_neighbours_are_one_step_away():
    space = space_of(trace_of(12, name="a"), trace_of(12, name="b"), trace_of(9))
    near = space.neighbours(Point(0, (4,)))
    assert set(near) == {Point(0, (3,)), Point(0, (6,)), Point(0, (4,)), Point(1, (4,))}
    assert space.take(Point(0, (3,))) and not space.take(Point(0, (3,)))
    assert Point(0, (3,)) not in space.neighbours(Point(0, (4,)))


def test_what_is_larger_than_what_did_not_fit_is_too_large():
    space = space_of(trace_of(16, 16, name="a"), trace_of(16, 16, name="b"))
    space.did_not_fit(Point(0, (4, 2)))
    assert not space.is_open(Point(0, (4, 4))) and space.is_open(Point(0, (2, 8)))
    assert space.is_open(Point(1, (8, 8))), "of another structure"
    # With one tile only there is no second version of it: that may fit again.
    assert space.is_open(Point(0, (16, 4)))
    assert not space.take(Point(0, (4, 4)))


class EvenLimits(PointLimits):
    """Tiles of up to 4 fit, a tile of n takes n cycles, those of structures 0 and 1 are equal."""

    def of(self, point):
        (tile,) = point.tiles
        return PointLimit(tile, (min(point.structure, 1), tile)) if tile <= 4 else None


def test_points_that_are_not_worth_it_are_never_given_out():
    traces = [trace_of(16, name=name) for name in "abc"]
    space = PointSpace([Structure.of(t) for t in traces], random.Random(0), EvenLimits())
    assert set(space.draw(20, 4)) == {Point(s, (t,)) for s in range(3) for t in (1, 2)}
    assert space.take(Point(1, (1,)))
    assert not space.is_open(Point(2, (1,))), "another point has its program"
    assert space.program(Point(1, (2,))) == space.program(Point(2, (2,)))
    assert set(space.neighbours(Point(0, (2,)), 4)) == {
        Point(0, (1,)),
        *(Point(s, (2,)) for s in range(3)),
    }
    assert len(space) == 3 * 5 - 3 * 3 - 2


def test_a_trace_of_another_space_has_no_point():
    space = space_of(trace_of(16))
    assert space.find(trace_of(16, name="other")) is None


def test_what_is_open_besides_tiles_is_an_error():
    with pytest.raises(ValueError, match="needs SamplePerfectTile"):
        Structure.of([[["SampleCategorical", [], [], []]], [[0, [1]]]])
