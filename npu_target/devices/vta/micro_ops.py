"""The micro-ops of a program: a table of the rows that its commands begin at.

A GEMM or ALU command names no row itself, only micro-ops, whose words are in a buffer.  What runs
along loops is the index of a command's micro-op: for each iteration of the loops that change its
rows the table has an entry, so that the index advances by additions, as all operands do.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...codegen.operands import to_operand
from ...passes.errors import CodegenError, DoesNotFit
from ...passes.linear import Linear
from ...program import Constant, Operand
from .config import VtaConfig
from .isa import micro_op

NAME = "micro_ops"
# Iterations to go through at most, for one command: more than fit any buffer.
_MOST_ENTRIES = 1 << 14


class Rows(NamedTuple):
    """The first rows of a command, of the accumulator, of what it reads beside it, and of weights,
    where a row of the buffer is `block_rows` of those of a tile."""

    dst: Linear
    src: Linear = Linear()
    wgt: Linear = Linear()
    block_rows: int = 1


class MicroOps:
    """Collects the table."""

    def __init__(self, config: VtaConfig) -> None:
        self._config = config
        self._words: list[int] = []
        self._found: dict[tuple[int, ...], int] = {}

    def index(self, rows: Rows, loops: Mapping[int, int], *, guarded: bool = False) -> Operand:
        """The index of the micro-op for these rows in a command inside of `loops`, extents by ids.

        Where the command is `guarded`, rows of iterations that leave it out may be none at all.

        Raises
        ------
        DoesNotFit
            for more micro-ops than the buffer holds.
        """
        forms = (rows.dst, rows.src, rows.wgt)
        changing = sorted(set().union(*(form.variables() for form in forms)))
        extents = [loops[loop_id] for loop_id in changing]
        if np.prod(extents, dtype=float) > _MOST_ENTRIES:
            raise self._too_many(int(np.prod(extents, dtype=float)))
        dst, src, wgt = (_values(form, changing, extents) for form in forms)
        if guarded:
            dst, src, wgt = (np.maximum(values, 0) for values in (dst, src, wgt))
        if (wgt % rows.block_rows).any():
            raise CodegenError("a step's weights begin inside of a block")
        entries = zip(dst, src, wgt // rows.block_rows, strict=True)
        words = tuple([micro_op(*map(int, entry)) for entry in entries])
        if words not in self._found:
            self._found[words] = len(self._words)
            self._words += words
            if len(self._words) > self._config.uop_rows:
                raise self._too_many(len(self._words))
        index, stride = Linear(self._found[words]), len(words)
        for loop_id, extent in zip(changing, extents, strict=True):
            stride //= extent
            index = index + Linear.loop(loop_id) * stride
        return to_operand(index)

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self._words)

    def constant(self) -> Constant:
        """The table, as the buffer has it."""
        return Constant(NAME, np.array(self._words, dtype="<u4").tobytes())

    def _too_many(self, needed: int) -> DoesNotFit:
        return DoesNotFit(
            f"the program's commands begin at {needed} combinations of rows or more, the micro-op "
            f"buffer of {self._config.name} has {self._config.uop_rows}; use smaller tiles"
        )


def _values(form: Linear, loops: Sequence[int], extents: Sequence[int]) -> np.ndarray:
    """A form's values in all iterations of loops, the last one's innermost."""
    if all(form.is_linear_in(loop_id) for loop_id in loops):
        total = np.full(extents, form.const)
        for axis, (loop_id, extent) in enumerate(zip(loops, extents, strict=True)):
            shape = [1] * len(extents)
            shape[axis] = extent
            total = total + (np.arange(extent) * form.coefficient(loop_id)).reshape(shape)
        return total.ravel()
    values = []
    for indices in itertools.product(*map(range, extents)):
        known = dict(zip(loops, map(Linear, indices), strict=True))
        values.append(form.substitute(known).const)
    return np.array(values)
