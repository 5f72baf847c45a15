"""Walks the statements of a function and places what they do: one way for each policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from ..device import DeviceConfig, kind_of
from ..device.commands import IsaError
from ..device.emission import Emission
from ..passes.errors import CodegenError, DoesNotFit
from ..pipeline_options import PipelineOptions
from .emitter import Emitter
from .nests import CopyNest, Nest, StepNest, Values
from .operations import CopyOperation, LoopIds
from .placed import Placed
from .report import NoReport
from .statements import Branch, Repeat, Sequence, Statement
from .waiting import Waiting


class Walk(ABC):
    """Comes to each statement in order, with the values of the loops around; copies to
    ``overwritten`` rows are left out, steps there overwrite them."""

    def __init__(
        self,
        emission: Emission,
        overwritten: set[Nest],
        config: DeviceConfig,
        ids: LoopIds,
        report: NoReport,
        options: PipelineOptions,
    ) -> None:
        self.report = report
        self.emission = emission
        self.rules = kind_of(config).copy_rules(config)
        self.overwritten = overwritten
        self.ids = ids
        self.emitter = Emitter(emission, overwritten, config, ids, report, options)

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
            return () if stmt in self.overwritten else self.copy(self._waiting(stmt, values))
        if isinstance(stmt, StepNest):
            return self.steps(stmt, values)
        if isinstance(stmt, Repeat):
            return self.loop(stmt, values)
        raise CodegenError(stmt.text, stmt.at)

    def _waiting(self, nest: CopyNest, values: Values) -> Waiting:
        """A copy whose operations are made when it is placed."""

        def make() -> list[CopyOperation]:
            inner = self.emitter.enter(nest, values)[1]
            try:
                return [
                    operation
                    for part, transfer in nest.transfers(inner, self.rules)
                    for operation in self.emission.copies(part, transfer)
                ]
            except DoesNotFit:
                raise
            except (CodegenError, IsaError) as error:
                text = f"no command computes `{nest.text}`: {error}"
                raise CodegenError(text, nest.leaf) from error

        by_steps = self.rules.steps_load_sums and nest.is_load and nest.sums is not None
        return Waiting(nest, nest.touched(values), make, by_steps=by_steps)
