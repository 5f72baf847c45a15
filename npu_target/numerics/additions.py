"""Additions of two int8 tensors: ``A * x + B * y + constant`` in int32 and one scale.

An operation on two int8 tensors is 65,536 results. So how near the device comes to one is not
estimated: all pairs that the operands can have are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from tvm import relax

from ..device.requantize import INT8_MAX, INT8_MIN, RequantizeRule
from ..integer import IntegerOperation
from ..quantize.calibrate import power_of_two_from
from ..quantize.multipliers import MULTIPLIER_LIMIT, nearest_multipliers
from ..relax_graph import dtype_of, shape_of
from .forms import AddForm, Rescale
from .layer import Candidate, Named, Network
from .ranges import Range, range_of

# Pairs of multipliers that are tried: that with the nearest ratio need not be the best, because
# sums are whole numbers.
_TRIED_MULTIPLIERS = 4
# An addition that the device rounds otherwise is one apart; more is no addition.
_MOST_APART = 1


@dataclass(frozen=True)
class AddNumbers:
    """``requantize(multipliers . operands + constant, scale)``, and for how many of the pairs that
    were tried it is something else, and by how much at most."""

    multipliers: tuple[int, int]
    constant: int
    scale: float
    pairs: int
    differ: int
    most: int


def addition_candidate(network: Network, named: Named, is_fast: bool) -> Candidate | str:
    """The device's form of an operation on two tensors of one shape, an exact one unless
    ``is_fast``; or why there is none."""
    left, right = named.inputs
    if not (isinstance(left, relax.Var) and isinstance(right, relax.Var)):
        return "one operand is constant"
    if {dtype_of(value) for value in (left, right, named.var)} != {"int8"}:
        return "it is not of int8 tensors"
    if not shape_of(left) == shape_of(right) == shape_of(named.var):
        return f"shapes {shape_of(left)} and {shape_of(right)} differ"
    ranges = [range_of(network.mod, network.graph, operand) for operand in (left, right)]
    found = add_numbers(named.operation, ranges[0], ranges[1], network.rule)
    if found is None or found.most > _MOST_APART:
        return f"{named.operation.op}: no sum with one scale is within {_MOST_APART} of it"
    text = "A*x + B*y" + (" + constant" if found.constant else "")
    numbers = "{} and {}".format(*found.multipliers)
    why = f"multipliers {numbers}: equal for all {found.pairs} pairs of values"
    if found.differ:
        why = (
            f"multipliers {numbers}: {found.differ / found.pairs:.2%} of {found.pairs} pairs of "
            f"values differ by {found.most}"
        )
        if not is_fast:
            return why
    low, high = _bounds(named.operation)
    form = AddForm(
        named.var.name,
        (),
        Rescale(found.scale, low, high),
        (left, right),
        found.multipliers,
        found.constant,
    )
    return Candidate(form, found.differ == 0, text, why)


@cache
def add_numbers(
    operation: IntegerOperation, left: Range, right: Range, rule: RequantizeRule
) -> AddNumbers | None:
    """The device's numbers that come nearest to an operation on two operands between such bounds;
    None where the rule has no scale for it."""
    x, y = (
        values.reshape(-1)
        for values in np.meshgrid(
            np.arange(left.low, left.high + 1), np.arange(right.low, right.high + 1), indexing="ij"
        )
    )
    exact = operation.evaluate(x.astype(np.int8), y.astype(np.int8)).astype(np.int64)
    bounds = _bounds(operation)
    best: AddNumbers | None = None
    for multipliers in _multipliers(x, y, exact, rule):
        sums = multipliers[0] * x + multipliers[1] * y
        for scale, constant in _scales(sums, exact, rule):
            apart = np.abs(_results(sums + constant, scale, rule, bounds) - exact)
            differ, most = int((apart > 0).sum()), int(apart.max())
            if best is None or (most, differ) < (best.most, best.differ):
                best = AddNumbers(multipliers, constant, scale, exact.size, differ, most)
    return best


def _multipliers(
    x: np.ndarray, y: np.ndarray, exact: np.ndarray, rule: RequantizeRule
) -> Iterator[tuple[int, int]]:
    """Multipliers in about the ratio in which the operands count, where nothing saturates."""
    inside = (exact > exact.min()) & (exact < exact.max())
    if not inside.any():
        inside[:] = True
    terms = np.stack([x[inside], y[inside], np.ones(int(inside.sum()))], axis=1)
    slopes = np.linalg.lstsq(terms, exact[inside].astype(float), rcond=None)[0][:2]
    signs, sizes = np.where(slopes < 0, -1, 1), np.abs(slopes)
    if not sizes.max() > 0:
        return
    if rule.powers_of_two:
        scale = power_of_two_from(float(sizes.max()) / MULTIPLIER_LIMIT)
        pairs = [tuple(np.rint(sizes / scale).astype(int))]
    else:
        lowest = [(m.a, m.b) for m in nearest_multipliers(sizes[0], sizes[1], _TRIED_MULTIPLIERS)]
        # In lowest terms ties stay ties; as large as can be, the constant is the finest.
        factors = [MULTIPLIER_LIMIT // max(pair) for pair in lowest]
        finest = [(f * a, f * b) for f, (a, b) in zip(factors, lowest, strict=True)]
        pairs = list(dict.fromkeys(lowest + finest))
    for a, b in pairs:
        yield int(signs[0] * a), int(signs[1] * b)


def _scales(
    sums: np.ndarray, exact: np.ndarray, rule: RequantizeRule
) -> Iterator[tuple[float, int]]:
    """Scales and constants with which sums come to each result about where they should."""
    levels = np.arange(exact.min() + 1, exact.max() + 1)
    index = exact - exact.min()
    first = np.full(levels.size + 1, np.iinfo(np.int64).max)
    last = np.full(levels.size + 1, np.iinfo(np.int64).min)
    np.minimum.at(first, index, sums)
    np.maximum.at(last, index, sums)
    # Between the largest sum with less and the smallest with as much; they may overlap.
    below = np.maximum.accumulate(last)[:-1]
    reached = np.minimum.accumulate(first[::-1])[::-1][1:]
    steps, halves = (below + reached) / 2, levels - 0.5
    if np.unique(steps).size < 2:
        return  # no line goes through what is one step or none
    scale, offset = np.polyfit(steps, halves, 1).tolist()
    if scale <= 0:
        return
    if rule.powers_of_two:
        scale = 2.0 ** round(np.log2(scale))
    near = round(offset / scale)
    for constant in (near, near - 1, near + 1):
        distances = steps + constant
        factor = scale
        if not rule.powers_of_two:
            factor = float((halves @ distances) / (distances @ distances))
        for candidate in dict.fromkeys(float(np.float32(f)) for f in (factor, scale)):
            if candidate > 0 and rule.refusal(candidate) is None:
                yield candidate, constant


def _results(
    sums: np.ndarray, scale: float, rule: RequantizeRule, bounds: tuple[int, int]
) -> np.ndarray:
    """By a table: there are fewer sums than pairs."""
    low = int(sums.min())
    table = rule.evaluate(np.arange(low, int(sums.max()) + 1).astype(np.int32), scale)
    return np.clip(table.astype(np.int64), *bounds)[sums - low]


def _bounds(operation: IntegerOperation) -> tuple[int, int]:
    return getattr(operation, "low", INT8_MIN), getattr(operation, "high", INT8_MAX)
