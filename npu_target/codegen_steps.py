"""The array's steps of a nest: preloads and computes.

A definition cuts its pixels into equal steps.  Where the rows of neighbouring steps follow each
other in the scratchpad and in the accumulator, the cut is made anew here, for the device: a step
that overlaps with the preload of other weights takes at least ``dim`` cycles, so the last step
before a change is a full one, and the others share the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from . import expr
from .isa import GARBAGE, ComputeAccumulated, ComputePreloaded, LocalAddress, Preload
from .passes.linear import Linear, to_operand
from .passes.transfers import LoopExtent
from .program import Loop, Node, device_command

FreshLoop = Callable[[], int]
# Steps of fewer rows wait for the array's queues: see docs/simulator.md.
_LEAST_ROWS = 8
# Where rows of operands, and of sums that are added to, are counted from.
_INPUTS = LocalAddress(0)
_SUMS = LocalAddress(0, accumulator=True, accumulate=True)
_FIRST_SUMS = LocalAddress(0, accumulator=True)


class ArrayStep(NamedTuple):
    """A step as a definition has it: first rows of its operands and of its sums, how many rows
    (``rows``), and how far apart those of operand A are (``row_step``).  ``starts``: whether the
    first part of the reduction is written over what the sums were, instead of being added."""

    a: Linear
    b: Linear
    c: Linear
    rows: int
    row_step: int
    starts: bool = False

    def substitute(self, values: Mapping[int, Linear]) -> ArrayStep:
        """The step where loops have these values."""
        a, b, c = (form.substitute(values) for form in (self.a, self.b, self.c))
        return self._replace(a=a, b=b, c=c)


def array_steps(
    step: ArrayStep, loops: tuple[LoopExtent, ...], dim: int, fresh: FreshLoop
) -> tuple[Node, ...]:
    """The commands of ``step`` in ``loops``.  Of a step that starts its sums, the first iteration
    of each loop over the reduction is split off: those loops that do not change the sums."""
    if step.starts:
        for depth, loop in enumerate(loops):
            if step.c.depends_on(loop.loop_id):
                continue
            around, inner = loops[:depth], loops[depth + 1 :]
            first = array_steps(step.substitute({loop.loop_id: Linear()}), inner, dim, fresh)
            again = (LoopExtent(fresh(), loop.extent - 1),) if loop.extent > 2 else ()
            index = Linear.loop(again[0].loop_id) if again else Linear()
            other = step._replace(starts=False).substitute({loop.loop_id: index + 1})
            others = array_steps(other, inner, dim, fresh)
            return nested(around, (*first, *nested(again, others)))
    return _steps(step, loops, dim, fresh)


def _steps(
    step: ArrayStep, loops: tuple[LoopExtent, ...], dim: int, fresh: FreshLoop
) -> tuple[Node, ...]:
    """Steps that all add, or all start their sums.  Weights that the innermost loops do not change
    are preloaded in their first iteration only, which is split off."""
    keep = len(loops)
    while keep and not step.b.depends_on(loops[keep - 1].loop_id):
        keep -= 1
    changing, staying = loops[:keep], list(loops[keep:])
    rows = step.rows
    while staying and _follow(step, staying[-1], rows):
        rows *= staying.pop().extent
    sizes = step_sizes(rows, dim) if rows > dim else [(rows, 1)]

    def run(values: dict[int, Linear], new_weights: bool) -> tuple[Node, ...]:
        """The steps over all rows, at some iteration of the loops that stay."""
        a, c = step.a.substitute(values), step.c.substitute(values)
        nodes: tuple[Node, ...] = ()
        done = 0
        for n_rows, times in sizes:
            if new_weights:
                nodes += _pair(a, step.b, c, n_rows, dim, step.starts)
                done, times, new_weights = done + n_rows, times - 1, False
            around = (LoopExtent(fresh(), times),) if times > 1 else ()
            at = Linear(done) + (Linear.loop(around[0].loop_id) * n_rows if around else 0)
            if times:
                pair = _pair(a + at * step.row_step, None, c + at, n_rows, dim, step.starts)
                nodes += nested(around, pair)
            done += n_rows * times
        return nodes

    zero = {loop.loop_id: Linear() for loop in loops[keep:]}
    nodes = [*run(zero, new_weights=True)]
    # What follows the first iteration, in the order of the loops: the innermost loop's others,
    # then those of the next loop with all of the innermost, and so on.
    for depth in range(len(staying) - 1, -1, -1):
        if staying[depth].extent == 1:
            continue
        values = dict(zero)
        around = []
        for index, loop in enumerate(staying[depth:], depth):
            first = 1 if index == depth else 0
            values[loop.loop_id] = Linear(first)
            if loop.extent - first > 1:
                again = LoopExtent(fresh(), loop.extent - first)
                around.append(again)
                values[loop.loop_id] = Linear.loop(again.loop_id) + first
        nodes += nested(tuple(around), run(values, new_weights=False))
    return nested(changing, tuple(nodes))


def step_sizes(rows: int, dim: int) -> list[tuple[int, int]]:
    """Steps for more than ``dim`` rows as ``(rows, how many)``: as few as can be, of equal sizes
    but for the first one and the last one, which is full."""
    number = -(-rows // dim)
    rest, others = rows - dim, number - 1
    for size in (-(-rest // others), rest // others):
        first = rest - size * (others - 1)
        if min(_LEAST_ROWS, size) <= first <= dim and size <= dim:
            middle = [(size, others - 1)] if others > 1 else []
            return [(first, 1), *middle, (dim, 1)]
    return [(rows - dim * others, 1), (dim, others)]


def nested(loops: tuple[LoopExtent, ...], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """``body`` in loops of a program."""
    for loop in reversed(loops):
        body = (Loop(loop.loop_id, expr.const(loop.extent), body),) if body else ()
    return body


def _follow(step: ArrayStep, loop: LoopExtent, rows: int) -> bool:
    """Whether an iteration's rows follow those of the one before."""
    return (
        step.a.is_linear_in(loop.loop_id)
        and step.c.is_linear_in(loop.loop_id)
        and step.a.coefficient(loop.loop_id) == rows * step.row_step
        and step.c.coefficient(loop.loop_id) == rows
    )


def _pair(
    a: Linear, b: Linear | None, c: Linear, rows: int, dim: int, starts: bool
) -> tuple[Node, ...]:
    """A preload and a compute; with the weights that are there already where ``b`` is None."""
    weights: Any = GARBAGE if b is None else (_INPUTS, to_operand(b))
    compute = ComputeAccumulated if b is None else ComputePreloaded
    return (
        device_command(
            Preload,
            bd=weights,
            bd_cols=dim,
            bd_rows=dim,
            c=(_FIRST_SUMS if starts else _SUMS, to_operand(c)),
            c_cols=dim,
            c_rows=rows,
        ),
        device_command(
            compute,
            a=(_INPUTS, to_operand(a)),
            a_cols=dim,
            a_rows=rows,
            bd=GARBAGE,
            bd_cols=dim,
            bd_rows=rows,
        ),
    )
