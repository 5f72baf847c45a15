"""The array's step: a preload of weights and sums, and a compute.

A definition cuts its pixels into equal steps.  Where the rows of neighbouring steps follow each
other the cut is made anew here: a step that overlaps with the preload of other weights takes at
least ``dim`` cycles, so the last step before a change is a full one, and the others share the rest.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...codegen.operands import to_command
from ...device.intrinsic import Access, Intrinsic, Operand
from ...passes.linear import Linear
from ...program import CommandForm, Node, command_form
from ...topi.blocking import ceil_div
from .config import GemminiConfig
from .features import GEMM_CALL
from .isa import (
    GARBAGE,
    ComputeAccumulated,
    ComputePreloaded,
    ConfigEx,
    LocalAddress,
    Preload,
)

if TYPE_CHECKING:
    from ...codegen.steps import Step

# Steps of fewer rows wait for the array's queues: see docs/simulator.md.
_LEAST_ROWS = 8
# Where rows of operands, and of sums that are added to, are counted from.
_INPUTS = LocalAddress(0)
_SUMS = LocalAddress(0, accumulator=True, accumulate=True)
_FIRST_SUMS = LocalAddress(0, accumulator=True)


class Gemm(Intrinsic):
    """``C[i, j] += A[i * row_step, k] * B[k, j]`` with up to ``dim`` rows; B stays in the array."""

    call = GEMM_CALL
    n_operands = 3
    multiplies = True
    keeps_stationary = True
    commands = 2

    config: GemminiConfig

    def operands(self, *numbers: int) -> tuple[Operand, ...]:
        rows, row_step = numbers
        return (
            Operand(Access.READ, rows, row_step),
            Operand(Access.READ, self.config.dim, follows=False),
            Operand(Access.ADD, rows),
        )

    def sizes(self, rows: int) -> list[tuple[int, int]]:
        return step_sizes(rows, self.config.dim)

    def cycles(self, blocks: int, rows: int, loaded: int) -> int:
        """A row a cycle, and never less than a preload for weights that change."""
        return max(blocks * rows, loaded * self.config.dim)

    def nodes(
        self, step: Step, row: Linear, rows: int, *, new_stationary: bool, overwrites: bool
    ) -> tuple[Node, ...]:
        a, b, c = step.first_rows
        preload, compute = _forms(self.config.dim, rows, new_stationary, overwrites)
        sums, inputs = c + row, a + row * step.operands[0].row_step
        loaded = (sums, b) if new_stationary else (sums,)
        return to_command(preload, *loaded), to_command(compute, inputs)


@lru_cache(maxsize=256)
def _forms(
    dim: int, rows: int, new_stationary: bool, overwrites: bool
) -> tuple[CommandForm, CommandForm]:
    """Preloads and computes of so many rows."""
    weights = {"bd_cols": dim, "bd_rows": dim}
    sums: dict[str, Any] = {"c_cols": dim, "c_rows": rows}
    sums["c"] = _FIRST_SUMS if overwrites else _SUMS
    inputs: dict[str, Any] = {"a_cols": dim, "a_rows": rows, "bd_cols": dim, "bd_rows": rows}
    inputs |= {"a": _INPUTS, "bd": GARBAGE}
    if new_stationary:
        preload = command_form(Preload, ("c", "bd"), bd=_INPUTS, **weights, **sums)
        return preload, command_form(ComputePreloaded, ("a",), **inputs)
    preload = command_form(Preload, ("c",), bd=GARBAGE, **weights, **sums)
    return preload, command_form(ComputeAccumulated, ("a",), **inputs)


INTRINSICS = (Gemm,)


def step_sizes(rows: int, dim: int) -> list[tuple[int, int]]:
    """Steps for so many rows as ``(rows, how many)``: as few as can be, of equal sizes but for the
    first one and the last one, which is full where there are several."""
    if rows <= dim:
        return [(rows, 1)]
    number = ceil_div(rows, dim)
    rest, others = rows - dim, number - 1
    for size in (-(-rest // others), rest // others):
        first = rest - size * (others - 1)
        if min(_LEAST_ROWS, size) <= first <= dim and size <= dim:
            middle = [(size, others - 1)] if others > 1 else []
            return [(first, 1), *middle, (dim, 1)]
    return [(rows - dim * others, 1), (dim, others)]


@lru_cache(maxsize=256)
def array_setting(a_stride: int) -> ConfigEx:
    """The setting for steps whose rows of A lie so far apart."""
    return ConfigEx(weight_stationary=True, a_stride=a_stride)
