"""Walks the statements of a function and places what they do: one way for each policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from ..device import kind_of
from ..device.commands import IsaError
from ..passes.errors import CodegenError, DoesNotFit
from .emitter import Emitter
from .nests import CopyNest, StepNest, Values
from .operations import CopyOperation
from .placed import Placed
from .statements import Branch, Repeat, Sequence, Statement
from .templates import CopyTemplates
from .waiting import Waiting


class Walk(ABC):
    """Comes to each statement in order, with the values of the loops around, and has the emitter
    place it; copies to rows that steps overwrite are left out."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.ids, self.report = emitter.ids, emitter.report
        self.rules = kind_of(emitter.config).copy_rules(emitter.config)
        self.begin()

    def begin(self) -> None:
        """Statements are walked, perhaps anew: what was made of them before does not count."""
        self.report.begin()
        self._templates = CopyTemplates(self.emitter.emission, self.rules, self.ids)

    @abstractmethod
    def run(self, parts: Iterable[Statement]) -> tuple[Placed, ...]:
        """Statements that follow each other, all that they do placed."""

    @abstractmethod
    def copy(self, waiting: Waiting) -> tuple[Placed, ...]:
        """A copy."""

    @abstractmethod
    def steps(self, nest: StepNest, values: Values) -> tuple[Placed, ...]:
        """A nest of steps."""

    @abstractmethod
    def loop(self, stmt: Repeat, values: Values) -> tuple[Placed, ...]:
        """A loop that is no part of a nest."""

    def statement(self, stmt: Statement, values: Values) -> tuple[Placed, ...]:
        """What a statement brings about: of those before it, often."""
        while isinstance(stmt, Branch):
            holds = stmt.holds(values)
            stmt = stmt.whole if holds is None else stmt.then if holds else stmt.otherwise
        if isinstance(stmt, Sequence):
            return tuple([x for part in stmt.parts for x in self.statement(part, values)])
        if isinstance(stmt, CopyNest):
            return (
                () if stmt in self.emitter.overwritten else self.copy(self._waiting(stmt, values))
            )
        if isinstance(stmt, StepNest):
            return self.steps(stmt, values)
        if isinstance(stmt, Repeat):
            return self.loop(stmt, values)
        raise CodegenError(stmt.text, stmt.at)

    def _waiting(self, nest: CopyNest, values: Values) -> Waiting:
        """A copy whose operations are made when it is placed."""

        def make() -> list[CopyOperation]:
            try:
                return self._templates.operations(nest, values)
            except DoesNotFit:
                raise
            except (CodegenError, IsaError) as error:
                text = f"no command computes `{nest.text}`: {error}"
                raise CodegenError(text, nest.leaf) from error

        by_steps = self.rules.steps_load_sums and nest.is_load and nest.sums is not None
        return Waiting(nest, values, nest.touched(values), make, by_steps=by_steps)
