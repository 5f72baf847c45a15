"""How a run shows that it gets on: a live display in a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

# Between two lines where there is no terminal.
_LINE_SECONDS = 10.0


class TuningProgress:
    """Counts trials and shows them, with the network's estimated cycles. A context manager."""

    def __init__(self, console: Console, total_trials: int, done_before: int = 0) -> None:
        self._console = console
        self._total = total_trials
        self._done = done_before
        self.measured = 0
        self._failures: Counter[str] = Counter()
        self._rejected: Counter[str] = Counter()
        self._started = self._last_line = time.monotonic()
        self._cycles = ""
        self._stage = ""
        self._waits_for = ""
        self._said_to_wait = False
        self._live = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._live.add_task(
            "starting", total=total_trials, completed=done_before, rate=""
        )

    def __enter__(self) -> TuningProgress:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()
        if not self._console.is_terminal:
            self._print_line("done" if kind is None else "stopped")

    def stage(self, text: str) -> None:
        """Say what is going on now."""
        self._stage = text
        self._live.update(self._task, description=self._described(text))
        self._maybe_line(text)

    def stage_of(self, text: str, done: int, total: int) -> None:
        """The same of something that has got so far."""
        self.stage(f"{text}: {done} of {total}")

    def waits(self, text: str) -> None:
        """What all of it waits for, which is said in the place of the stage; empty when it goes on.
        May be called by another thread."""
        is_new = bool(text) and not self._waits_for
        self._waits_for = text
        self._live.update(self._task, description=self._described(self._stage))
        if is_new and not self._said_to_wait:
            self._said_to_wait = True
            self._last_line = -math.inf  # once at once, later as any line
        if text:
            self._maybe_line(self._stage)

    def note(self, text: str) -> None:
        """A line that stays."""
        self._console.print(text, highlight=False)

    def trial(self, layer: str, failure: str | None) -> None:
        """One more candidate is done with; `failure` is its kind where it has no time, with
        the route that it is of."""
        self._done += 1
        self.measured += 1
        if failure is not None:
            self._failures[failure] += 1
        self._live.update(self._task, completed=self._done, rate=self.rate_text)
        self._maybe_line(layer)

    def rejected(self, kinds: Mapping[str, int]) -> None:
        """So many candidates were not worth a measurement, by kind; they are no trials."""
        self._rejected.update(kinds)

    def network(self, default_cycles: int, cycles: int) -> None:
        """The network's cycles by default and by what is known so far."""
        self._cycles = f"{cycles:,} cycles ({default_cycles / cycles:.2f}x)"

    @property
    def rate(self) -> float:
        """Candidates a second."""
        return self.measured / max(time.monotonic() - self._started, 1e-9)

    @property
    def rate_text(self) -> str:
        """The rate in a unit in which it is no 0."""
        if not self.measured:
            return "0/s"
        for unit, seconds in (("s", 1), ("min", 60)):
            if self.rate * seconds >= 1:
                return f"{self.rate * seconds:.1f}/{unit}"
        return f"{self.rate * 3600:.1f}/h"

    @property
    def failures(self) -> dict[str, int]:
        """How many candidates failed, by kind."""
        return dict(self._failures)

    @property
    def rejections(self) -> dict[str, int]:
        """How many candidates were compiled but not measured, by kind."""
        return {kind: count for kind, count in self._rejected.items() if count}

    def _described(self, text: str) -> str:
        text = self._waits_for or text
        return f"{text}  {self._cycles}" if self._cycles else text

    def _maybe_line(self, text: str) -> None:
        if not self._console.is_terminal and time.monotonic() - self._last_line > _LINE_SECONDS:
            self._print_line(text)

    def _print_line(self, text: str) -> None:
        self._last_line = time.monotonic()
        failed = sum(self._failures.values())
        self._console.print(
            f"[{self._done}/{self._total}] {self._described(text)}"
            + (f", measured {self.rate_text}" if self.measured else "")
            + (f", {failed} failed" if failed else ""),
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
