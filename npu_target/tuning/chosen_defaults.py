"""Default schedules of a network's operators, chosen in all processes at once, where they were not
before: each takes a second or two of one processor."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from tempfile import TemporaryDirectory

from ..device import DeviceConfig
from ..schedule_rules import default_choice, remember_default
from ..schedule_rules.choice import Choice
from ..topi import Operator
from .build_pool import BuildPool
from .kept_defaults import KeptDefaults
from .schedules import default_of
from .worker_process import WorkerError
from .workload import workload_module

# Of a large operator on a busy machine. What takes longer is chosen here.
_TIMEOUT_SECONDS = 120.0
# How long at most an interruption goes unseen while others choose.
_INTERRUPT_SECONDS = 0.1
# Of fewer operators, a process that begins now would hardly choose one before all are chosen.
_LEAST_OPERATORS = 4


def choose_defaults(
    operators: Sequence[Operator],
    config: DeviceConfig,
    builders: BuildPool,
    interrupted: Callable[[], bool] = lambda: False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Have `default_of` of these operators answer at once from now on.

    What was chosen before is taken from there. Of the others, the processes begin with the first,
    this one with the last: by then they may not be up yet. What a process cannot choose is chosen
    here.

    interrupted : is asked between two operators, and while others choose.
    progress : is told how many are chosen of those that were not before.

    Raises KeyboardInterrupt when interrupted, and as `default_of` does.
    """
    kept = KeptDefaults(config)
    _choose(_missing(operators, kept), config, kept, builders, interrupted, progress)


def choose_defaults_together(
    operators: Sequence[Operator],
    config: DeviceConfig,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """`choose_defaults` by processes that are started for it, where there are operators enough."""
    kept = KeptDefaults(config)
    missing = _missing(operators, kept)
    if len(missing) < _LEAST_OPERATORS:
        for done, operator in enumerate(missing):
            progress(done, len(missing))
            default_of(operator, config)
            kept.keep(operator)
        return
    with (
        TemporaryDirectory() as folder,
        BuildPool(os.cpu_count() or 1, Path(folder) / "output.log") as builders,
    ):
        _choose(missing, config, kept, builders, lambda: False, progress)


def _missing(operators: Sequence[Operator], kept: KeptDefaults) -> list[Operator]:
    """The canonical ones for which nothing was chosen."""
    distinct = dict.fromkeys(operator.canonical() for operator in operators)
    return [operator for operator in distinct if not kept.recall(operator)]


def _choose(
    operators: Sequence[Operator],
    config: DeviceConfig,
    kept: KeptDefaults,
    builders: BuildPool,
    interrupted: Callable[[], bool],
    progress: Callable[[int, int], None],
) -> None:
    futures = [
        builders.call(_choice, operator, config, timeout_seconds=_TIMEOUT_SECONDS, lost=_nothing)
        for operator in operators
    ]
    for operator, future in zip(reversed(operators), reversed(futures), strict=True):
        is_ours = future.cancel()
        while not future.done() and not interrupted():
            progress(sum(other.done() for other in futures), len(futures))
            wait([future], _INTERRUPT_SECONDS)
        if interrupted():
            raise KeyboardInterrupt
        if is_ours or not _is_remembered(operator, config, future):
            default_of(operator, config)
        kept.keep(operator)
    progress(len(futures), len(futures))


def _choice(operator: Operator, config: DeviceConfig) -> Choice:
    func = workload_module(operator, config)["main"]
    return default_choice(operator, config, func)


def _nothing(reason: str) -> Choice | None:
    return None


def _is_remembered(operator: Operator, config: DeviceConfig, future: Future[Choice | None]) -> bool:
    try:
        choice = future.result()
    except WorkerError:  # it is raised again where it is chosen here
        return False
    if choice is not None:
        remember_default(operator, config, choice)
    return choice is not None
