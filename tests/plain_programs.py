"""Programs in which nothing is moved: every copy and every step comes where its statement is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
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
        patch.setattr(codegen_tir, "rewritten", lambda head, body, *_: replace(head, body=body))
        yield


def stream(program: Program) -> list[tuple[int, int, int]]:
    return expand(program, _addresses(program))


def check_same_rows(plain: Program, final: Program, *, reordered: bool) -> None:
    """Every row of the memories sees the same. What lies between commands does not matter, nor, of
    programs in which some steps are ``reordered``, which of them weights stay in the array for."""
    before, after = _histories(plain, reordered), _histories(final, reordered)
    different = [row for row in {**before, **after} if before.get(row) != after.get(row)]
    for row in different:  # the first is enough
        assert after.get(row) == before.get(row), f"row {row}, one of {len(different)}"


def _addresses(program: Program) -> dict[str, int]:
    return {place.name: 0x8000_0000 + (i << 24) for i, place in enumerate(program.places)}


def _histories(program: Program, reordered: bool) -> dict[Any, list[list[Any]]]:
    """What happens to each row, where a load of a constant is one of the value that it has all
    along."""
    places = _addresses(program)
    fills = {places[constant.name]: constant.data for constant in program.constants}
    made = {}
    histories = row_histories(stream(program), program.config, reordered=reordered)
    for row, history in histories.items():
        added_to = [times[0][0] for times in history[1:]] + [False]
        made[row] = [
            [_filled(access, times, is_added_to, fills) for access in times]
            for times, is_added_to in zip(history, added_to, strict=True)
        ]
    return made


def _filled(access: Any, times: list[Any], is_added_to: bool, fills: dict[int, bytes]) -> Any:
    """A row is filled as far as it is known to lie beside an image, which is further where loops
    are unrolled: columns that no store reads, and nothing is added to, do not count."""
    source = access[2] if isinstance(access[0], bool) and len(access) == 3 else None
    if not isinstance(source, tuple) or source[0] >> 24 << 24 not in fills:
        return access
    address, *how = source
    base = address >> 24 << 24
    row = fills[base][address - base : address - base + access[1]]
    assert len(row) == access[1] and len(set(row)) == 1, "a row of one value"
    read = [_columns_read(each) for each in times[1:]]
    is_clipped = not is_added_to and None not in read
    columns = min(access[1], max(read, default=0)) if is_clipped else access[1]
    return access[0], columns, ("filled", row[0], *how)


def _columns_read(access: Any) -> int | None:
    """By a store; None for what else reads."""
    if not isinstance(access[0], int):
        return None
    return access[1] if len(access) == 3 else access[3][2]
