"""Default schedules that builder processes choose are those that this process would."""

from __future__ import annotations

import time
from concurrent.futures import Future
from contextlib import nullcontext

import pytest

from npu_target import kept, topi
from npu_target.device import preset
from npu_target.schedule_rules import default
from npu_target.schedule_rules.traces import trace_json
from npu_target.tuning import chosen_defaults
from npu_target.tuning.build_pool import BuildPool
from npu_target.tuning.chosen_defaults import choose_defaults, choose_defaults_together
from npu_target.tuning.schedules import default_of
from npu_target.tuning.worker_process import WorkerError

CONFIG = preset("gemmini-16x16")
OPERATORS = [
    topi.Matmul(1, 24, 40, 72).canonical(),
    topi.Conv2d(1, 9, 9, 16, 24, 3, 3, (2, 2), (1, 1, 1, 1)).canonical(),
    topi.Add(40, 40, 16).canonical(),
]


class Builders:
    """Answers at once, in this process: `lost` or an error where it is told to."""

    def __init__(self, answer="called"):
        self.answer = answer

    def call(self, function, *arguments, timeout_seconds, lost):
        future = Future()
        if self.answer == "never":
            return future
        future.set_running_or_notify_cancel()
        if self.answer == "called":
            known, default._chosen = default._chosen, {}  # that of another process
            future.set_result(function(*arguments))
            default._chosen = known
        elif self.answer == "lost":
            future.set_result(lost("it died"))
        elif self.answer == "error":
            future.set_exception(WorkerError("CodegenError", "no", "Traceback"))
        return future


@pytest.fixture
def chosen(monkeypatch, tmp_path):
    """The operators that this process chose for; none was chosen before."""
    found = []
    choose = default._choose
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kept, "_began_at", time.time)  # code was edited a moment ago
    kept._version.cache_clear()
    monkeypatch.setattr(default, "_chosen", {})
    monkeypatch.setattr(
        default,
        "_choose",
        lambda sch, operator, *arguments: (
            found.append(operator) or choose(sch, operator, *arguments)
        ),
    )
    return found


def traces():
    return [trace_json(default_of(operator, CONFIG).trace) for operator in OPERATORS]


def test_they_are_what_this_process_would_choose(chosen, tmp_path):
    expected = traces()
    default._chosen.clear()
    with BuildPool(2, tmp_path / "output.log") as builders:
        choose_defaults(OPERATORS, CONFIG, builders)
    assert traces() == expected


def test_what_others_chose_is_not_chosen_here(chosen):
    told = []
    choose_defaults(OPERATORS, CONFIG, Builders(), progress=lambda *counts: told.append(counts))
    assert told[-1] == (3, 3)
    chosen.clear()
    assert len(traces()) == 3 and not chosen


@pytest.mark.parametrize("answer", ["never", "lost", "error"])
def test_what_others_cannot_choose_is_chosen_here(chosen, answer):
    choose_defaults(OPERATORS, CONFIG, Builders(answer))
    assert chosen == OPERATORS[::-1]


def test_an_interruption_is_seen_while_others_choose(chosen):
    turns = iter([False, False, True, True])
    with pytest.raises(KeyboardInterrupt):
        choose_defaults(OPERATORS, CONFIG, Builders("busy"), lambda: next(turns))
    assert not chosen


@pytest.mark.parametrize("count", [1, 3])
def test_what_was_chosen_is_kept_and_not_chosen_again(chosen, count):
    choose_defaults_together(OPERATORS[:count], CONFIG)
    assert chosen == OPERATORS[:count]
    expected = traces()[:count]
    default._chosen.clear()
    chosen.clear()
    told = []
    choose_defaults_together(
        OPERATORS[:count], CONFIG, progress=lambda *counts: told.append(counts)
    )
    assert traces()[:count] == expected and not set(chosen) & set(OPERATORS[:count])
    assert not told  # as nothing had to be chosen


def test_of_those_that_are_kept_no_process_is_asked(chosen):
    choose_defaults(OPERATORS[:2], CONFIG, Builders("never"))
    default._chosen.clear()
    choose_defaults(OPERATORS, CONFIG, Builders("never"))
    assert chosen == [*OPERATORS[1::-1], OPERATORS[2]]


def test_processes_are_started_where_there_are_operators_enough(chosen, monkeypatch, tmp_path):
    started = []
    monkeypatch.setattr(
        chosen_defaults,
        "BuildPool",
        lambda count, output: started.append(count) or nullcontext(Builders()),
    )
    choose_defaults_together([*OPERATORS, *OPERATORS], CONFIG)  # of which three are different
    assert not started
    default._chosen.clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    choose_defaults_together([*OPERATORS, topi.Matmul(1, 16, 16, 16)], CONFIG)
    assert started
    chosen.clear()
    assert len(traces()) == 3 and not chosen
