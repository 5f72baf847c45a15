"""Functions of one int8 number as tables."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ....integer import Table
from ..operation import Operation

# Further away than this is outside of int8 whatever the zero point.
_FAR = 1024


def half_away(values: np.ndarray) -> np.ndarray:
    """Rounded to int64, halves away from zero, large ones cut off.

    Raises
    ------
    ValueError
        for what is not a number: scales too far apart for float32.
    """
    if np.isnan(values).any():
        raise ValueError("the scales of its operand and its result are too far apart")
    wide = np.clip(values.astype(np.float64), -_FAR, _FAR)
    return (np.sign(wide) * np.floor(np.abs(wide) + 0.5)).astype(np.int64)


def emit_table(op: Operation, value: relax.Expr, values: np.ndarray, part: str = "") -> relax.Var:
    """What a table makes of int8; its values are cut off at int8's ends."""
    table = Table(tuple(np.clip(values, -128, 127).tolist()))
    return op.emit_integer(table, [value], part)
