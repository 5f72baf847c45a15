"""How a run shows that it gets on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from npu_target.tuning import progress as progress_module
from npu_target.tuning.progress import TuningProgress


class Clock:
    """Time that passes when told to."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress_module, "time", clock)
    return clock


@pytest.mark.parametrize(
    ("trials", "seconds", "says"),
    [(0, 50, "0/s"), (30, 10, "3.0/s"), (2, 60, "2.0/min"), (3, 7200, "1.5/h"), (1, 7200, "0.5/h")],
)
def test_a_rate_is_told_in_a_unit_in_which_it_is_no_0(clock, trials, seconds, says):
    progress = TuningProgress(Console(quiet=True), 100)
    for _ in range(trials):
        progress.trial("layer", None)
    clock.now += seconds
    assert progress.rate_text == says


def test_without_a_terminal_there_are_lines_before_the_first_trial(clock):
    """Default schedules alone may take hours on an RTL simulation."""
    text = io.StringIO()
    progress = TuningProgress(Console(file=text, width=80), 8)
    for done in range(1, 4):
        clock.now += 600
        progress.stage_of("measuring default schedules", done, 21)
    assert text.getvalue().splitlines() == [
        f"[0/8] measuring default schedules: {done} of 21" for done in range(1, 4)
    ]
