"""Programs in which nothing is moved: every copy and every step comes where its statement is."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from program_evaluator import expand
from row_histories import row_histories
from tvm import tirx

from npu_target import codegen_tir
from npu_target.codegen import emitter
from npu_target.codegen.emitter import Emitter
from npu_target.codegen.ends import begin_soon, end_soon
from npu_target.codegen.nests import Values
from npu_target.codegen.parts import Copy
from npu_target.codegen.pipeline import Pipeline
from npu_target.codegen.placed import Placed, PlacedNodes, PlacedStep
from npu_target.codegen.placement import Placer
from npu_target.codegen.statements import Repeat, Statement
from npu_target.codegen.steps import Steps
from npu_target.codegen.two_places import InputPlaces
from npu_target.codegen.waiting import Open
from npu_target.codegen_tir import build_program
from npu_target.device import DeviceConfig
from npu_target.passes.linear import Linear
from npu_target.program import Program

# What is the same nest of steps whenever a function is compiled: its statement, and the values of
# the loops around.
NestKey = tuple[str, tuple[tuple[int, Linear], ...]]


class Orders:
    """Of nests of steps that the code generator puts in another order, in which."""

    def __init__(self) -> None:
        self.found: dict[NestKey, Callable[[Emitter, Open], Steps | None]] = {}

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Functions that are compiled meanwhile are looked at; inputs have the rows of their tiles
        from the first to the last."""
        opened: list[Open] = []

        def nest(self: Emitter, one: Open, behind: str) -> tuple[Placed, ...]:
            opened.append(one)
            return place(self, one, behind)

        def begin(placer: Placer, due: Sequence[Copy]) -> list[Copy]:
            before, result = placer.steps, begin_soon(placer, due)
            if placer.steps is not before:
                self.found[_key_of(opened[-1])] = _outer_product
            return result

        def end(placer: Placer, uncut: Steps, after: Sequence[Copy]) -> None:
            before = placer.steps
            end_soon(placer, uncut, after)
            if placer.steps is not before:
                self.found[_key_of(opened[-1])] = _inner_product

        place = Emitter.nest
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Emitter, "nest", nest)
            patch.setattr(emitter, "begin_soon", begin)
            patch.setattr(emitter, "end_soon", end)
            patch.setattr(InputPlaces, "in_two_places", lambda self, placed, *_: placed)
            yield


def _key_of(opened: Open) -> NestKey:
    return opened.nest.text, tuple(sorted(opened.values.items()))


def _outer_product(emitter: Emitter, opened: Open) -> Steps | None:
    return emitter.steps(opened).outer_product()


def _inner_product(emitter: Emitter, opened: Open) -> Steps | None:
    return emitter.steps(opened, coalesce=False).inner_product()


class PlainPipeline(Pipeline):
    """Loops are unrolled, copies come at once, and steps one after the other, in the order that
    `orders` have."""

    orders = Orders()

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
        in_order = self.orders.found.get(_key_of(opened))
        steps = in_order(self.emitter, opened) if in_order else self.emitter.steps(opened)
        assert steps is not None
        settings = PlacedNodes(self.emitter.emission.before_steps(steps.step))
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
def plain_code(orders: Orders) -> Iterator[None]:
    """The code generator moves nothing but steps that `orders` has, and nothing is rewritten."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlainPipeline, "orders", orders)
        patch.setattr(codegen_tir, "Pipeline", PlainPipeline)
        patch.setattr(codegen_tir, "rewritten", lambda head, body, *_: replace(head, body=body))
        yield


def stream(program: Program) -> list[tuple[int, int, int]]:
    return expand(program, _addresses(program))


def check_rows(func: tirx.PrimFunc, config: DeviceConfig) -> None:
    """Rows see the same in the program of a function as in its plain code."""
    orders = Orders()
    with orders.recorded():
        final = build_program(func, config, "final")
    with plain_code(orders):
        plain = build_program(func, config, "plain")
    check_same_rows(plain, final)


def check_same_rows(plain: Program, final: Program) -> None:
    """Every row of the memories sees the same. What lies between commands does not matter."""
    before, after = _histories(plain), _histories(final)
    different = [row for row in {**before, **after} if before.get(row) != after.get(row)]
    for row in different:  # the first is enough
        assert after.get(row) == before.get(row), f"row {row}, one of {len(different)}"


def _addresses(program: Program) -> dict[str, int]:
    return {place.name: 0x8000_0000 + (i << 24) for i, place in enumerate(program.places)}


def _histories(program: Program) -> dict[Any, list[list[Any]]]:
    """What happens to each row, where a load of a constant is one of the value that it has all
    along."""
    places = _addresses(program)
    fills = {places[constant.name]: constant.data for constant in program.constants}
    made = {}
    for row, history in row_histories(stream(program), program.config).items():
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
