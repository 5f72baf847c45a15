"""Operators' schedules, moved on at random: what they compute is what the operator does, or they
are refused with a reason."""

from __future__ import annotations

import random

import numpy as np
import pytest
from fuzz.moved import Moved
from fuzz.schedules import in_parts
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_runs import expected, kernel_arguments, random_arguments, run_program
from operator_strategies import operators
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Trace

from npu_target.codegen_tir import CodegenError, build
from npu_target.device import DeviceConfig, preset
from npu_target.devices.gemmini import PRESETS
from npu_target.packing import packed
from npu_target.passes.errors import DoesNotFit
from npu_target.topi import Conv2d, Matmul, MaxPool2d, Operator
from npu_target.tuning.search import point_space
from npu_target.tuning.workload import workload_module

_POINTS, _MOVED = 4, 4  # of an operator's space, and schedules that go on from each
_MOST_MOVES = 6
_MOST_MACS = 4_000_000


def check(operator: Operator, config: DeviceConfig, space: str, seed: int) -> None:
    """Some schedules of a space, and each moved on in several ways."""
    draw = random.Random(seed)
    arrays = random_arguments(operator, seed)
    names = [arg.name for arg in operator.args[:-1]]
    inputs = dict(zip(names, kernel_arguments(operator, arrays), strict=True))
    wanted = expected(operator, arrays)
    points = point_space(operator, config, space, seed, draw)
    for point in points.draw(_POINTS):
        start = Schedule(workload_module(operator, config))
        Trace.apply_json_to_schedule(points.trace(point), start)
        for moves in (0, *(draw.randint(1, _MOST_MOVES) for _ in range(_MOVED))):
            moved = Moved(start.mod, draw.randrange(1 << 30))
            for _ in range(moves):
                moved.move()
            func = moved.mod["main"]
            if moves and draw.random() < 0.2:
                func = in_parts(func, draw)
                moved.made.append("loops in parts")
            text = f"{operator} on {config.name}, {space}, seed {seed}: {'; '.join(moved.made)}"
            try:
                built = build(func, config, "moved")
            except CodegenError as error:
                assert moved.made or isinstance(error, DoesNotFit), text
                continue
            laid_out = packed(inputs, built.packings)
            try:
                found = run_program(built.program, [laid_out[name] for name in names])
            except RuntimeError as error:  # two loads that nobody orders
                assert moved.made and "[race]" in str(error), text
                continue
            np.testing.assert_array_equal(found.reshape(wanted.shape), wanted, text)


def _drawn(data: st.DataObject) -> None:
    config = data.draw(st.sampled_from(PRESETS))
    kinds = operators(config)
    operator = data.draw(kinds[data.draw(st.sampled_from(sorted(kinds)))])
    operator = operator.canonical().kernel()
    space = data.draw(st.sampled_from(["template", "rules", "both"]))
    if operator.macs <= _MOST_MACS:
        check(operator, config, space, data.draw(st.integers(0, 1 << 30)))


# A wide store whose loop over pixels holds two nests; steps under a condition; a window's rows in
# different iterations of the loops around the tile; loops over lines and pixels fused; a loop whose
# extent is no constant, beside others that are put in parts.
FOUND = [
    ("gemmini-8x8", Matmul(batch=1, m=29, k=25, n=25, bias=False, sums=True), "template", 3187),
    ("gemmini-8x8", Matmul(batch=2, m=2, k=9, n=161, bias=False, sums=True), "template", 3438),
    ("gemmini-16x16", MaxPool2d(2, 1, 1, 1, size=2, stride=2, pad=(0, 2, 1, 1)), "template", 36),
    ("gemmini-8x8", Conv2d(1, 5, 8, 2, 1, 2, 5, bias=False, sums=True), "rules", 60),
    (
        "gemmini-16x16",
        Conv2d(1, 1, 4, 1, 1, 1, 2, pad=(0, 0, 2, 3), bias=False, sums=True),
        "template",
        524286,
    ),
]


@pytest.mark.parametrize(("device", "operator", "space", "seed"), FOUND)
def test_what_was_found(device: str, operator: Operator, space: str, seed: int) -> None:
    check(operator.canonical().kernel(), preset(device), space, seed)


@pytest.mark.long
@settings(max_examples=12, derandomize=True)
@given(data=st.data())
def test_moved_schedules_are_right_or_refused(data: st.DataObject) -> None:
    _drawn(data)


@pytest.mark.slow
@settings(max_examples=600)
@given(data=st.data())
def test_many_moved_schedules_are_right_or_refused(data: st.DataObject) -> None:
    _drawn(data)
