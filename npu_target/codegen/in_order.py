"""Program order: each statement's commands where it stands, each loop a loop."""

from __future__ import annotations

from collections.abc import Iterable

from ..passes.linear import Linear
from .emitter import Emitter
from .nests import StepNest, Values
from .placed import Placed, PlacedLoop
from .report import ALONE
from .statements import Repeat, Statement
from .waiting import Open, Waiting
from .walk import Walk


class InOrder(Walk):
    """Overlaps nothing, and is as easy to follow as a compiler can be: what comes out has the form
    of the lowered function. ``why`` is told of what could overlap."""

    def __init__(self, emitter: Emitter, why: str) -> None:
        super().__init__(emitter)
        self._why = why

    def run(self, parts: Iterable[Statement]) -> tuple[Placed, ...]:
        self.begin()
        return tuple([placed for part in parts for placed in self.statement(part, {})])

    def copy(self, waiting: Waiting) -> tuple[Placed, ...]:
        return self.emitter.plain([waiting], ALONE, self._why)

    def steps(self, nest: StepNest, values: Values) -> tuple[Placed, ...]:
        return self.emitter.nest(Open(nest, values, nest.touched(values)), self._why)

    def loop(self, stmt: Repeat, values: Values) -> tuple[Placed, ...]:
        loop = self.ids.loop(stmt.extent)
        index = Linear.loop(loop.loop_id) if stmt.extent > 1 else Linear()
        self.report.enter(stmt.extent)
        body = self.statement(stmt.body, {**values, stmt.symbol: index + stmt.start})
        self.report.leave()
        return (PlacedLoop(loop, body),) if stmt.extent > 1 else body
