"""What a search over one layer's schedules does for the tuning loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from ..topi import Operator
from .candidate import Candidate
from .compiling import Compiled
from .failure import Failure

# Candidates that are measured together.
BATCH = 16
# Seeds of MetaSchedule are within 1 and 2**31 - 1.
SEEDS = 2**31 - 2

Compile = Callable[[Operator, Any], "Future[Compiled | Failure]"]


class LayerSearch(Protocol):
    """Candidates for one layer, one batch after another.

    rejected : candidates that were not worth measuring, by what became of them; the loop clears it.
    """

    rejected: Counter[str]

    def begin_from(self, trace: Any, cycles: float) -> None:
        """Search near a schedule that is known, a trace in JSON form, if this space has it."""

    def next_batch(
        self, best_cycles: float, size: int = BATCH, later: int = 0
    ) -> list[Candidate] | None:
        """At most `size` candidates whose programs are different, none this time perhaps; None when
        the space holds no more. `best_cycles` are those to be beaten; about `later` candidates will
        be asked for after these."""

    def learn(self, candidates: Sequence[Candidate], results: Sequence[float | None]) -> None:
        """Take in the cycles of these; None for what failed."""
