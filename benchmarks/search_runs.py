"""Runs of the tuner whose course is kept: what was best after how many measurements and seconds."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from rich.console import Console

from npu_target.device import DeviceConfig
from npu_target.tuning.build_pool import BuildPool
from npu_target.tuning.devices import device_pool
from npu_target.tuning.header import Header
from npu_target.tuning.interrupt import Interrupt
from npu_target.tuning.layer_search import LayerSearch
from npu_target.tuning.layers import Layer
from npu_target.tuning.log import DEFAULT_TRIAL, open_log
from npu_target.tuning.measuring import Measurer
from npu_target.tuning.progress import TuningProgress
from npu_target.tuning.routes import NONE
from npu_target.tuning.search import logged_to
from npu_target.tuning.searches import SEARCHES
from npu_target.tuning.tuner import Tuner

SEARCH, COMPILE, CLIENT, DEVICE = "search", "compile", "client", "device"


@dataclass(frozen=True)
class Moment:
    """The network's cycles, by what is best of each layer, after so much measuring."""

    measurements: int
    seconds: float
    cycles: int


@dataclass
class SearchRun:
    """A run from nothing. `seconds` and `processor_seconds` (by role) are from the first search
    on; the moments' seconds are from the start of the run. `rejected` candidates were not
    measured, by kind. `found_cycles` are those of the best candidate that the search proposed."""

    seed: int
    space: str
    measured: int = 0
    seconds: float = 0.0
    processor_seconds: Counter[str] = field(default_factory=Counter)
    rejected: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)
    default_cycles: dict[str, int] = field(default_factory=dict)
    layer_cycles: dict[str, int] = field(default_factory=dict)
    found_cycles: dict[str, int] = field(default_factory=dict)


class _Course(TuningProgress):
    """Keeps the moments instead of showing them."""

    def __init__(self, trials: int, run: SearchRun) -> None:
        super().__init__(Console(quiet=True), trials)
        self._run = run
        self._begun = time.monotonic()

    def network(self, default_cycles: int, cycles: int) -> None:
        seconds = time.monotonic() - self._begun
        self._run.moments.append(Moment(self.measured, seconds, cycles))


def search_from_nothing(
    config: DeviceConfig,
    layers: Sequence[Layer],
    trials: int,
    seed: int = 0,
    space: str = "both",
    servers: int | None = None,
    search: str = "points",
) -> SearchRun:
    """Tune `layers` with new logs, which are thrown away, on `servers` simulated devices of one's
    own (None: one per processor); `search` as in SEARCHES. Raises as `Tuner.run` does."""
    run = SearchRun(seed, space)
    begun: list[tuple[float, Counter[str]]] = []
    with tempfile.TemporaryDirectory(prefix="npu-search-") as name:
        folder = Path(name)
        output = folder / "run.log"
        with (
            logged_to(output),
            open_log(folder / "log", Header.of(config, "benchmark", "")) as log,
            device_pool(config, None, servers, output, Console(quiet=True)) as pool,
            BuildPool(os.cpu_count() or 1, output) as builders,
            Interrupt() as interrupt,
        ):
            measurer = Measurer(config, builders, pool, interrupt, seed)
            factory = SEARCHES[search](config, space, seed, measurer.compile)

            def begin(layer: Layer) -> LayerSearch:
                if not begun:
                    begun.append((time.monotonic(), _processor_seconds()))
                return factory(layer)

            progress = _Course(trials, run)
            tuner = Tuner(config, layers, log, measurer, begin, progress, NONE)
            tuner.run(trials)
            if begun:
                started, before = begun[0]
                run.seconds = time.monotonic() - started
                run.processor_seconds = _processor_seconds()
                run.processor_seconds.subtract(before)
            if interrupt.requested:
                raise KeyboardInterrupt
            for entry in log.measurements:
                if entry["trial"] != DEFAULT_TRIAL:
                    best = run.found_cycles.get(entry["task"], entry["cycles"])
                    run.found_cycles[entry["task"]] = min(best, entry["cycles"])
        run.measured = progress.measured
        run.rejected = progress.rejections
        run.failures = progress.failures
        results = tuner.results()
        run.default_cycles = {result.layer.name: result.default_cycles for result in results}
        run.layer_cycles = {result.layer.name: result.cycles for result in results}
    return run


def _processor_seconds() -> Counter[str]:
    """What this process and those it started have spent so far, by what they do."""
    seconds: Counter[str] = Counter()
    this = psutil.Process()
    for process in (this, *this.children(recursive=True)):
        try:
            command = " ".join(process.cmdline())
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        role = SEARCH
        if process != this:
            role = DEVICE if "rpc_server" in command else CLIENT
            role = COMPILE if "tuning.compiling" in command else role
        seconds[role] += times.user + times.system
    return seconds
