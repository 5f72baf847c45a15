"""Tuning layers: builders, devices and a search put together, and what came of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console

from ..device import DeviceConfig
from ..pipeline_options import DEFAULT, PipelineOptions
from .build_pool import BuildPool
from .dump import as_built, with_layouts
from .interrupt import Interrupt
from .layers import Layer
from .log import RUN_LOG_FILE, TuningLog
from .measuring import Measurer
from .pool import DevicePool
from .progress import TuningProgress
from .report import LayerResult
from .routes import BESIDE
from .search import logged_to
from .searches import SEARCHES
from .tuner import Tuner


@dataclass(frozen=True)
class SearchOptions:
    """How to search.

    trials : how many candidates to measure, over all layers.
    space : schedules of hand-written templates (`template`), of rules (`rules`), or `both`.
    search : `points`, between structures and tile sizes, or `evolutionary`, MetaSchedule's.
    routes : the device's routes `beside` the search, `none`, or `only` these.
    seed : of the search, and of the inputs that candidates are checked with.
    resume : whether the trials in one's logs count as part of `trials`.
    """

    trials: int = 300
    space: str = "both"
    search: str = "points"
    routes: str = BESIDE
    seed: int = 0
    resume: bool = False


@dataclass(frozen=True)
class Tuned:
    """What came of tuning: of each layer what is known now, how the trials went, and whether it was
    asked to stop before it was done."""

    results: list[LayerResult]
    progress: TuningProgress
    was_interrupted: bool


def tune_layers(
    config: DeviceConfig,
    layers: Sequence[Layer],
    log: TuningLog,
    pool: DevicePool,
    console: Console,
    options: SearchOptions,
    timeout_seconds: float,
    pipeline: PipelineOptions = DEFAULT,
    tell: Callable[[list[LayerResult], bool], None] = lambda results, was_interrupted: None,
) -> Tuned:
    """Search for faster schedules of `layers`, measure them on `pool`, and write them into `log`.

    timeout_seconds : of real time, after which a candidate counts as hung.
    tell : is called with the results at the end, also where that is an error, and with whether it
        was Ctrl-C that ended it.

    Ctrl-C ends it after the current step. Raises as `Tuner.run` does.
    """
    output_file = log.folder / RUN_LOG_FILE
    done = log.trials if options.resume else 0
    if log.trials:
        console.print(
            f"{log.folder} holds {log.trials} trials"
            + (", which count" if options.resume else "; new ones are added to them")
        )
    progress = TuningProgress(console, options.trials, done)
    pool.told = progress.waits
    with (
        logged_to(output_file),
        BuildPool(os.cpu_count() or 1, output_file) as builders,
        Interrupt() as interrupt,
    ):
        measurer = Measurer(
            config, builders, pool, interrupt, options.seed, timeout_seconds, pipeline
        )
        begin = SEARCHES[options.search]
        factory = begin(config, options.space, options.seed, measurer.compile)
        log.routes = options.routes
        tuner = Tuner(config, layers, log, measurer, factory, progress, options.routes)
        try:
            # After an interruption what was found is still to be told.
            with progress, contextlib.suppress(KeyboardInterrupt):
                tuner.run(max(0, options.trials - done))
        finally:
            results = with_layouts(as_built(tuner.results(), config, log), config, log)
            tell(results, interrupt.requested)
    return Tuned(results, progress, interrupt.requested)
