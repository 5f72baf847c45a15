"""Values of expressions for all iterations of loops at once, by NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .expr import Expr, Op


def evaluated(value: Expr, extents: Mapping[int, int], most: int) -> np.ndarray | None:
    """An expression's values in all iterations of the loops whose variables it has; None where an
    extent is not given, or where there are more than so many."""
    variables = sorted(_variables(value))
    if not all(variable in extents for variable in variables):
        return None
    if math.prod([extents[variable] for variable in variables]) > most:
        return None
    grids = np.ix_(*[np.arange(extents[variable]) for variable in variables])
    return np.asarray(_values(value, dict(zip(variables, grids, strict=True))))


def share_of_comparison(value: Expr, extents: Mapping[int, int]) -> float | None:
    """In what share of a loop's iterations its variable compares so with a number, which is what
    most conditions are; None for any other expression, and where the loop's extent is not given."""
    if value.op not in _COMPARISONS:
        return None
    a, b = value.args
    variable, number = (a, b.value) if a.op is Op.VAR else (b, a.value)
    if {a.op, b.op} != {Op.VAR, Op.CONST}:
        return None
    extent = extents.get(variable.value)
    if not extent:
        return None
    if value.op is Op.EQ:
        return (0 <= number < extent) / extent
    if variable is a:  # below the number, or up to it
        return min(max(number + (value.op is Op.LE), 0), extent) / extent
    return (extent - min(max(number + (value.op is Op.LT), 0), extent)) / extent


def _variables(value: Expr) -> set[int]:
    if value.op is Op.VAR:
        return {value.value}
    return set().union(*[_variables(argument) for argument in value.args])


def _values(value: Expr, variables: Mapping[int, np.ndarray]) -> Any:
    if value.op is Op.CONST:
        return value.value
    if value.op is Op.VAR:
        return variables[value.value]
    if value.op is Op.TABLE:
        index, *words = value.args
        return np.take([word.value for word in words], _values(index, variables), mode="clip")
    return _NUMPY[value.op](*[_values(argument, variables) for argument in value.args])


_COMPARISONS = (Op.LT, Op.LE, Op.EQ)


def _number(compare: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison that gives 0 or 1, which can be added."""
    return lambda a, b: compare(a, b) * 1


_NUMPY: dict[Op, Callable[..., Any]] = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.FLOOR_DIV: np.floor_divide,
    Op.FLOOR_MOD: np.mod,
    Op.MIN: np.minimum,
    Op.MAX: np.maximum,
    Op.LT: _number(np.less),
    Op.LE: _number(np.less_equal),
    Op.EQ: _number(np.equal),
    Op.AND: _number(np.logical_and),
    Op.OR: _number(np.logical_or),
    Op.SELECT: np.where,
}
