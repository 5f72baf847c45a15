"""What tile sizes alone say, against what the compiler makes of them."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm.s_tir import Schedule

from npu_target import topi
from npu_target.device import preset
from npu_target.device_api import program_cycles
from npu_target.schedule_rules import TracedDesign, traced_designs
from npu_target.topi import Operator
from npu_target.tuning.compiling import Compiled, CompileJob, compile_trace
from npu_target.tuning.mac_tiles import MacPoints
from npu_target.tuning.points import Point, PointSpace
from npu_target.tuning.search import point_space
from npu_target.tuning.workload import workload_module

CONFIG = preset("gemmini-16x16")
ONE_EACH_SIDE = (1, 1, 1, 1)
OPERATORS = [
    topi.Conv2d(1, 14, 14, 256, 256, 3, 3, (1, 1), ONE_EACH_SIDE),
    topi.Conv2d(1, 14, 14, 256, 512, 3, 3, (2, 2), ONE_EACH_SIDE),
    topi.Conv2d(2, 9, 9, 40, 48, 5, 3, (2, 1), (2, 1, 1, 0)),
    topi.Conv2d(2, 28, 28, 72, 100, 1, 1, (2, 2), (0, 0, 0, 0)),
    topi.Conv2d(1, 64, 64, 3, 64, 7, 7, (2, 2), (3, 3, 3, 3)),
    topi.DepthwiseConv2d(1, 28, 28, 96, 3, 3, CONFIG.dim, (1, 1), ONE_EACH_SIDE),
    topi.Matmul(3, 37, 700, 500, bias=False),
    topi.Add(784, 40, CONFIG.dim),
    topi.GlobalAvgPool(2, 40, 40, 96, CONFIG.dim),
]


@lru_cache
def space_of(operator: Operator) -> PointSpace:
    return point_space(operator, CONFIG, "both", 1, random.Random(1))


@lru_cache
def designs_of(operator: Operator) -> list[TracedDesign]:
    start = Schedule(workload_module(operator, CONFIG))
    return traced_designs(start, operator, CONFIG, "both")


@lru_cache
def limits_of(operator: Operator) -> MacPoints:
    return MacPoints(operator, CONFIG, designs_of(operator))


def drawn(operator: Operator, data: st.DataObject) -> Point:
    structures = space_of(operator).structures
    index = data.draw(st.integers(0, len(structures) - 1), "structure")
    tiles = [data.draw(st.sampled_from(sizes)) for sizes in structures[index].options]
    return Point(index, tuple(tiles))


def compiled(operator: Operator, point: Point):
    return compile_trace(CompileJob(operator, CONFIG, space_of(operator).trace(point)))


def overlapped(operator: Operator, point: Point) -> Point:
    """The point's tiles, not in program order."""
    designs = designs_of(operator)
    design = designs[point.structure]
    if not design.structure.in_order:
        return point
    wanted = replace(design.structure, in_order=False, ends=True), design.tiled
    found = [(other.structure, other.tiled) for other in designs].index(wanted)
    return Point(found, point.tiles)


@pytest.mark.long
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_what_is_said_to_fit_does_and_the_bound_is_about_the_programs(operator, data):
    operator = operator.canonical()
    point = drawn(operator, data)
    limit, result = limits_of(operator).of(point), compiled(operator, point)
    assert (limit is not None) == isinstance(result, Compiled), result
    if limit is not None:
        assert 0 < limit.least_cycles <= program_cycles(result.program)
        # The compiler's bound takes loads of boundary tiles for one beat each, and steps in program
        # order, whose addresses are no sums, for as little as a row.
        bound = compiled(operator, overlapped(operator, point)).least_cycles
        assert limit.least_cycles < 2 * bound


@pytest.mark.parametrize("operator", OPERATORS[:2], ids=lambda operator: operator.name)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_points_of_one_program_have_the_same(operator, data):
    operator = operator.canonical()
    space, limits = space_of(operator), limits_of(operator)
    point = drawn(operator, data)
    limit = limits.of(point)
    if limit is None:
        return
    others = [
        other
        for index, structure in enumerate(space.structures)
        if len(structure.extents) == len(point.tiles)
        for other in (Point(index, point.tiles),)
        if other != point and limits.of(other) and limits.of(other).program == limit.program
    ]
    for other in others[:2]:
        assert compiled(operator, other).program == compiled(operator, point).program


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_no_run_is_below_the_bound(operator):
    from npu_target.program import Program
    from npu_target.tuning.choose import cycles_of

    operator = operator.canonical()
    for point in space_of(operator).draw(40):
        limit = limits_of(operator).of(point)
        program = Program.from_bytes(compiled(operator, point).program)
        assert limit is not None and limit.least_cycles <= cycles_of(program)
