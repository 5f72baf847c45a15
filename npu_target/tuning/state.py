"""What is known of a layer in the course of a tuning run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tvm.ir import IRModule

from ..device import DeviceConfig, kind_of
from .candidate import RecordForm
from .failure import Failure
from .layer_search import LayerSearch
from .layers import Layer
from .report import DEFAULT, TUNED, LayerResult

# Batches in a row without a candidate that was not measured before: the space is used up.
_MOST_EMPTY_BATCHES = 3
# Batches over which a gain is averaged.
_RECENT_BATCHES = 3


@dataclass
class LayerState:
    """A layer, its times in simulated seconds, and how its search is doing.

    `logged_seconds` is the best time that the logs had before this run, else the default
    schedule's. `history` has the best time after each batch, that of the default schedule first.
    `known` has what came of each program that was measured, by its digest; `taught` are the digests
    that the search of this run has been told of, or will be. `known_schedules` are traces in JSON
    form with their cycles, for the search to begin from. Of the `trials`, `route_trials` are of the
    device's routes.
    """

    layer: Layer
    mod: IRModule
    config: DeviceConfig
    default_seconds: float = 0.0
    best_seconds: float = 0.0
    logged_seconds: float = 0.0
    trials: int = 0
    route_trials: int = 0
    history: list[float] = field(default_factory=list)
    known: dict[str, float | Failure] = field(default_factory=dict)
    taught: set[str] = field(default_factory=set)
    known_schedules: list[tuple[Any, float]] = field(default_factory=list)
    search: LayerSearch | None = None
    exhausted: bool = False
    _empty_batches: int = 0

    @cached_property
    def form(self) -> RecordForm:
        """What the layer's tuning records have in common."""
        return RecordForm.of(self.mod, self.config)

    def set_default(self, seconds: float) -> None:
        """The default schedule's time: the first one, which others have to be below."""
        self.default_seconds = self.best_seconds = self.logged_seconds = seconds
        self.history = [seconds]

    def set_logged(self, seconds: float) -> None:
        """The time of the best schedule that the logs have."""
        self.best_seconds = self.logged_seconds = min(self.best_seconds, seconds)
        self.history = [self.best_seconds]

    def end_routes(self, tried: int) -> None:
        """Take note of so many routes that were measured: the first time is that of the best."""
        self.route_trials = tried
        self.history = [self.best_seconds]

    def end_batch(self, new_trials: int) -> None:
        """Take note of a batch in which so many candidates were new."""
        self.history.append(self.best_seconds)
        self._empty_batches = 0 if new_trials else self._empty_batches + 1
        self.exhausted = self.exhausted or self._empty_batches >= _MOST_EMPTY_BATCHES

    @cached_property
    def _least_cycles(self) -> float:
        """The layer takes no less on the device that the config describes."""
        return kind_of(self.config).cost.least_cycles(self.layer.operator, self.config)

    def cycles_to_beat(self) -> float:
        """Those of the best schedule: a candidate whose bound is no less is not worth measuring.
        Infinite where they are fewer than the layer can take: what measures is faster than the
        config has it, or counts something else, and bounds by the config tell nothing of it."""
        best = self.cycles(self.best_seconds)
        return best if best >= self._least_cycles else math.inf

    def promise(self) -> float:
        """What the next batch may gain for the network, in seconds: what the latest ones gained on
        average, and a share of the way to the bound that every batch halves, since the bound may
        be out of reach."""
        recent = self.history[-1 - _RECENT_BATCHES :]
        gain = (recent[0] - recent[-1]) / max(1, len(recent) - 1)
        bound = self._least_cycles / (self.config.clock_khz * 1e3)
        room = max(self.best_seconds - bound, 0.0) * 0.5 ** len(self.history)
        return self.layer.count * (gain + room)

    def result(self) -> LayerResult:
        return LayerResult(
            self.layer,
            self.cycles(self.default_seconds),
            self.cycles(self.best_seconds),
            TUNED if self.best_seconds < self.default_seconds else DEFAULT,
            self.trials,
            is_new=self.best_seconds < self.logged_seconds,
        )

    def cycles(self, seconds: float) -> int:
        return round(seconds * (self.config.clock_khz * 1e3))
