"""Copies around the steps of a nest, for pipelines that interleave nothing."""

from __future__ import annotations

from collections.abc import Sequence

from .operations import CopyOperation
from .parts import Copy
from .placed import Placed
from .placement import Placer
from .report import BEFORE, BEHIND, NOT_INTERLEAVED


class Around(Placer):
    """Places copies before all of the steps or behind them."""

    def place(
        self,
        due: Sequence[Copy],
        free: Sequence[Copy],
        after: Sequence[Copy],
        *,
        in_halves: bool = False,
    ) -> tuple[Placed, ...]:
        self.report.steps(self.steps)
        for copy in (*due, *free):
            self.report.copy(copy.operation, BEFORE, NOT_INTERLEAVED)
        behind = [copy for copy in after if not copy.leaves_rest]
        for copy in behind:
            self.report.copy(copy.operation, BEHIND, NOT_INTERLEAVED)
        return (
            *(copy.placed for copy in (*due, *free)),
            *self._alone(0, self.steps.step, True, self.steps.overwrites),
            *(copy.placed for copy in behind),
        )

    def rest(self, copy: Copy) -> CopyOperation | None:
        """All of it: nothing was placed between the steps."""
        return copy.operation
