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


def test_what_is_waited_for_is_said_at_once_and_then_like_the_stage(clock):
    text = io.StringIO()
    progress = TuningProgress(Console(file=text, width=200), 20)
    progress.stage("conv")
    for second in range(25):
        progress.waits("waits for a server: 1 of 1 is with others")
        assert text.getvalue().count("\n") == 1 + second // 11
        clock.now += 1
    progress.waits("")
    clock.now += 20
    progress.stage("conv")
    *waiting, last = text.getvalue().splitlines()
    assert waiting == ["[0/20] waits for a server: 1 of 1 is with others"] * 3
    assert last == "[0/20] conv"


def test_in_a_terminal_it_is_in_the_place_of_the_stage():
    text = io.StringIO()
    progress = TuningProgress(Console(file=text, width=120, force_terminal=True), 20)
    with progress:
        progress.stage("conv")
        progress.waits("waits for a server: 2 of 2 are with others")
        progress._live.refresh()
        assert "2 of 2 are with others" in text.getvalue()
        text.truncate(0)
        progress.waits("")
        progress._live.refresh()
        assert "with others" not in text.getvalue().rpartition("conv")[2]
        assert "conv" in text.getvalue()
