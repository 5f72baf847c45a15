"""Schedules drawn at random: what they compute is what LLVM computes of the definition that nobody
scheduled, or they are refused with a reason, which most of them must not be."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
import tvm
from fuzz.definitions import CONFIG, KINDS, UNWRITTEN, Definition
from fuzz.device import run
from fuzz.schedules import Moves

from npu_target.codegen_tir import CodegenError, build_program

SCHEDULES = 25  # of a definition: compiling it by LLVM takes longer than one of them
RIGHT, REFUSED, NO_SCHEDULE = "right", "refused", "no schedule"
LEAST_RIGHT = 0.9  # of those of definitions that make use of nothing undefined


def definition_of(seed: int) -> Definition:
    """A definition of any kind, whose expected output is LLVM's and NumPy's."""
    draw = random.Random(seed)
    definition = draw.choice(KINDS)(draw)
    expected = definition.expected
    output = tvm.runtime.tensor(np.full(expected.shape, UNWRITTEN, expected.dtype))
    inputs = [tvm.runtime.tensor(array) for array in definition.inputs]
    tvm.compile(definition.func, target="llvm")(*inputs, output)
    np.testing.assert_array_equal(output.numpy(), expected, definition.text)
    return definition


def outcome(definition: Definition, seed: int) -> str:
    """What comes of one schedule. Raises AssertionError where it is wrong."""
    moves = Moves(definition, seed)
    func = moves.function()
    if func is None:
        return NO_SCHEDULE
    try:
        program = build_program(func, CONFIG, "fuzzed")
    except CodegenError:
        return REFUSED
    found = run(program, definition.inputs, UNWRITTEN, seed)
    text = f"{definition.text}, seed {seed}: {'; '.join(moves.made)}"
    np.testing.assert_array_equal(found, definition.expected, text)
    return RIGHT


def check(first: int, number: int) -> None:
    """Schedules of some definitions: those without a meaning are refused, most others are right."""
    counts: Counter[str] = Counter()
    for seed in range(first, first + number):
        definition = definition_of(seed)
        found = Counter(outcome(definition, 1000 * seed + i) for i in range(SCHEDULES))
        if definition.is_defined:
            counts.update(found)
        else:
            assert not found[RIGHT], definition.text
    assert counts[RIGHT] >= LEAST_RIGHT * counts.total(), counts


@pytest.mark.long
@pytest.mark.parametrize("first", range(5, 25, 10))
def test_schedules_are_right_or_refused(first: int) -> None:
    check(first, 10)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 900, 20))
def test_many_schedules_are_right_or_refused(first: int) -> None:
    check(first, 20)
