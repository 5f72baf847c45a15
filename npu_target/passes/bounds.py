"""What linear forms over loops of known extents can be: their least value, and whether conditions
imply one another."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .linear import Atom, Linear

Extents = Mapping[int, int]  # of loops, which start at 0
# Points at which conditions are compared one by one, where their forms do not tell.
_MOST_POINTS = 1 << 18


def least(form: Linear, extents: Extents) -> float:
    """A number that the form is never below: its least value if every loop occurs once in it."""
    return _range(form, extents)[0]


def implies(given: Sequence[Linear], wanted: Linear, extents: Extents) -> bool:
    """Whether ``wanted >= 0`` wherever all of ``given`` are: proved from the forms, or by looking
    at every point if they are not too many; False if neither tells."""
    if least(wanted, extents) >= 0:
        return True
    if any(least(wanted - form, extents) >= 0 for form in given):
        return True
    # Of the conditions those of few points first, as many as can be looked at together.
    ids, forms = wanted.variables(), []
    for form in sorted(given, key=lambda form: _points(form.variables(), extents)):
        if _points(ids | form.variables(), extents) <= _MOST_POINTS:
            ids |= form.variables()
            forms.append(form)
    if _points(ids, extents) > _MOST_POINTS:
        return False
    shape = [extents[loop_id] for loop_id in sorted(ids)]
    points = dict(zip(sorted(ids), np.indices(shape, sparse=True), strict=True))
    holds = _values(wanted, points) >= 0
    for form in forms:
        holds = holds | (_values(form, points) < 0)
    return bool(np.all(holds))


def counting(form: Linear, extents: Extents) -> list[int] | None:
    """Of the loops of ``extents`` those that a form walks, outermost first, if it takes one value
    after the other in that order of them, each once; else None.  Loops of one iteration walk
    nothing, others than these may move it as a whole."""
    steps = []
    for key, step in form.items:
        if isinstance(key, Atom):
            if not extents.keys().isdisjoint(key.a.variables() | key.b.variables()):
                return None
        elif extents.get(key, 1) > 1:
            steps.append((step, key))
    reached, found = 1, []
    for step, key in sorted(steps):
        if step != reached:
            return None
        reached *= extents[key]
        found.append(key)
    return found[::-1]


def _points(ids: set[int], extents: Extents) -> int:
    """How many iterations loops have together."""
    return math.prod(extents[loop_id] for loop_id in ids)


def _range(form: Linear, extents: Extents) -> tuple[float, float]:
    low: float = form.const
    high: float = form.const
    for key, factor in form.items:
        ends: tuple[float, float]
        ends = _atom_range(key, extents) if isinstance(key, Atom) else (0, extents[key] - 1)
        low += min(factor * end for end in ends)
        high += max(factor * end for end in ends)
    return low, high


def _atom_range(atom: Atom, extents: Extents) -> tuple[float, float]:
    a, b = _range(atom.a, extents), _range(atom.b, extents)
    if atom.op == "floormod" and b[0] > 0:
        return (0, b[1] - 1) if a[0] < 0 or a[1] >= b[0] else a
    if atom.op == "floordiv" and b[0] > 0:
        quotients = [x // y for x in a for y in b]
        return min(quotients), max(quotients)
    if atom.op == "min":
        return min(a[0], b[0]), min(a[1], b[1])
    if atom.op == "max":
        return max(a[0], b[0]), max(a[1], b[1])
    return -math.inf, math.inf


_NUMPY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "floordiv": np.floor_divide,
    "floormod": np.mod,
    "min": np.minimum,
    "max": np.maximum,
}


def _values(form: Linear, points: Mapping[int, np.ndarray]) -> np.ndarray:
    total = np.int64(form.const)
    for key, factor in form.items:
        if isinstance(key, Atom):
            value = _NUMPY[key.op](_values(key.a, points), _values(key.b, points))
        else:
            value = points[key]
        total = total + factor * value
    return np.asarray(total)
