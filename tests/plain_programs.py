"""Programs in which nothing is moved: every copy and every step comes where its statement is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from program_evaluator import expand
from row_histories import row_histories

from npu_target import codegen_tir
from npu_target.codegen.nests import Values
from npu_target.codegen.pipeline import Pipeline
from npu_target.codegen.placed import Placed, PlacedNodes, PlacedStep
from npu_target.codegen.statements import Repeat, Statement
from npu_target.codegen.steps import Steps
from npu_target.passes.linear import Linear
from npu_target.program import Program


class PlainPipeline(Pipeline):
    """Loops are unrolled, copies come at once, and steps one after the other."""

    def statement(self, stmt: Statement, values: Values) -> tuple[Placed, ...]:
        return (*super().statement(stmt, values), *self.flush())

    def loop(self, stmt: Repeat, values: Values) -> tuple[Placed, ...]:
        placed: list[Placed] = []
        for index in range(stmt.start, stmt.start + stmt.extent):
            placed += self.statement(stmt.body, {**values, stmt.symbol: Linear(index)})
        return tuple(placed)

    def close(self, opened, behind) -> tuple[Placed, ...]:
        waiting = opened.due, opened.free, opened.after, opened.reloads, opened.last
        assert not any(waiting), "copies wait, though each has come at once"
        steps = self.emitter.steps(opened)
        settings = PlacedNodes(self.emission.before_steps(steps.step))
        return (settings, *plain_steps(steps))


def plain_steps(steps: Steps) -> Iterator[PlacedStep]:
    """Steps one after the other, without loops."""
    reducing = [level for level in range(len(steps.loops)) if steps.reduces(level)]
    for indices in itertools.product(*(range(loop.extent) for loop in steps.loops)):
        ids = [loop.loop_id for loop in steps.loops]
        step = steps.step.substitute(dict(zip(ids, map(Linear, indices), strict=True)))
        new_stationary = not any(indices[steps.n_changing :])
        overwrites = steps.overwrites and not any(indices[level] for level in reducing)
        for run in steps.runs:
            for time in range(run.times):
                row = Linear(run.first_row + time * run.rows)
                yield PlacedStep(step, row, run.rows, new_stationary, overwrites, ())
                new_stationary = False


@contextmanager
def plain_code() -> Iterator[None]:
    """The code generator moves nothing, and nothing is rewritten."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codegen_tir, "Pipeline", PlainPipeline)
        patch.setattr(codegen_tir, "rewritten", lambda body, *_: body)
        yield


def stream(program: Program) -> list[tuple[int, int, int]]:
    addresses = {arg.name: 0x8000_0000 + (i << 24) for i, arg in enumerate(program.places)}
    return expand(program, addresses)


def check_same_rows(plain: Program, final: Program) -> None:
    """Every row of the memories sees the same. What lies between commands does not matter."""
    before = _without_fill(row_histories(stream(plain), plain.config), plain)
    after = _without_fill(row_histories(stream(final), final.config), final)
    different = [row for row in {**before, **after} if before.get(row) != after.get(row)]
    for row in different:  # the first is enough
        assert after.get(row) == before.get(row), f"row {row}, one of {len(different)}"


def _without_fill(histories: dict[Any, list[Any]], program: Program) -> dict[Any, list[Any]]:
    """How far a row beside an image is filled from a constant is left out: further than it is
    read, where loops are unrolled and more is known to be beside it."""
    constants = 0x8000_0000 + (len(program.args) << 24)

    def seen(access: Any) -> Any:
        what = access[2] if isinstance(access[0], bool) else None
        is_fill = isinstance(what, tuple) and what[0] >= constants
        return (access[0], what) if is_fill else access

    return {
        row: [[seen(each) for each in times] for times in all_] for row, all_ in histories.items()
    }
