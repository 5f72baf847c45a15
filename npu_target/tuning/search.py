"""The search over one layer's schedules.

MetaSchedule's evolutionary search replays and checks several traces for each that it picks, which
costs more than measuring does here. This one steps between points, structures and tile sizes, and
compiles only what it may measure; what a program does, and a bound of its cycles, are then known
without running it.
"""

from __future__ import annotations

import logging
import math
import random
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tvm.s_tir import Schedule

from ..device import DeviceConfig, kind_of
from ..schedule_rules import traced_designs
from ..schedule_rules.traces import Structure, trace_json
from ..topi import Operator
from ..topi.mac_operator import MacOperator
from .candidate import Candidate
from .compiling import Compiled
from .cost_model import CostModel
from .failure import DOES_NOT_FIT, Failure
from .layer_search import BATCH, SEEDS, Compile
from .layers import Layer
from .mac_tiles import MacPoints
from .point_model import PointModel
from .points import Point, PointSpace
from .workload import workload_module

# Of the compiled programs that a batch is chosen from, so many are left over for the next ones.
_SPARE = 12
# They are the most promising of so many times as many points...
_PROPOSED = 6
# ... of which this share is next to the best points known; the others are drawn anywhere.
_NEAR_SHARE = 0.5
_BEST_POINTS = 6
# Share of a batch that is drawn anywhere among the compiled.
_BLIND_SHARE = 0.1
PRUNED = "pruned"


def point_space(
    operator: Operator, config: DeviceConfig, space: str, seed: int, generator: random.Random
) -> PointSpace:
    """The points of a layer's schedules (`operator` in canonical form; `space` is template, rules
    or both), none on a device that runs no schedules; draws are from `generator`."""
    if not kind_of(config).has_schedules:
        return PointSpace([], generator)
    start = Schedule(workload_module(operator, config), seed=seed % SEEDS + 1)
    found = traced_designs(start, operator, config, space)
    structures = [Structure.of(trace_json(design.trace)) for design in found]
    limits = MacPoints(operator, config, found) if isinstance(operator, MacOperator) else None
    return PointSpace(structures, generator, limits)


class SearchFactory:
    """Begins searches over layers that share a cost model."""

    def __init__(self, config: DeviceConfig, space: str, seed: int, compile: Compile) -> None:
        self._config = config
        self._space = space
        self._seed = seed
        self._compile = compile
        self._cost_model = CostModel(seed)

    def __call__(self, layer: Layer) -> Search:
        generator = random.Random(f"{self._seed} {layer.name}")
        return Search(
            layer.operator,
            point_space(layer.operator, self._config, self._space, self._seed, generator),
            self._compile,
            self._cost_model,
            generator,
        )


@dataclass(frozen=True)
class _Ready:
    """A compiled candidate that is not measured yet."""

    point: Point
    candidate: Candidate
    compiled: Compiled


class Search:
    """A `LayerSearch` that steps between points."""

    def __init__(
        self,
        operator: Operator,
        space: PointSpace,
        compile: Compile,
        cost_model: CostModel,
        generator: random.Random,
    ) -> None:
        self._operator = operator
        self._space = space
        self._compile = compile
        self._cost_model = cost_model
        self._generator = generator
        self._point_model = PointModel(space.structures, generator.randrange(1 << 30))
        self._ready: list[_Ready] = []
        self._points: dict[str, Point] = {}  # of what was compiled, by digest
        self._cycles: dict[Point, float] = {}
        # Points that were given out, and what became of them before they could be measured.
        self.rejected: Counter[str] = Counter()

    def begin_from(self, trace: Any, cycles: float) -> None:
        """Search near a schedule that is known, if this space has it."""
        point = self._space.find(trace)
        if point is not None:
            self._space.take(point)
            self._cycles[point] = cycles
            self._point_model.learn(point, cycles)

    def next_batch(
        self, best_cycles: float, size: int = BATCH, later: int = _SPARE
    ) -> list[Candidate] | None:
        """At most `size` candidates whose programs are different and may take less than
        `best_cycles`, perhaps none this time; None when the space holds no more. About `later`
        others will be asked for after them: what is compiled beyond that is lost."""
        if not self._ready and not len(self._space):
            return None
        # The first ones are drawn with next to nothing known: there should be a choice in any case.
        wanted = size + (min(_SPARE, later) if self._points else _SPARE)
        if wanted > len(self._ready):
            self._compile_more(wanted - len(self._ready), best_cycles)
        hopeful = [entry for entry in self._ready if entry.compiled.least_cycles < best_cycles]
        for entry in self._ready:
            if entry.compiled.least_cycles >= best_cycles:
                self.rejected[PRUNED] += 1
                self._point_model.learn(entry.point, entry.compiled.least_cycles)
        predicted = self._cost_model.predict([entry.compiled for entry in hopeful])
        for entry, cycles in zip(hopeful, predicted, strict=True):
            self._point_model.learn(entry.point, float(cycles))
        ranked = [hopeful[i] for i in sorted(range(len(hopeful)), key=lambda i: predicted[i])]
        n_ranked = size - round(_BLIND_SHARE * size)
        picked, rest = ranked[:n_ranked], ranked[n_ranked:]
        blind = self._generator.sample(rest, min(len(rest), size - n_ranked))
        self._ready = [entry for entry in rest if entry not in blind]
        return [entry.candidate for entry in (*picked, *blind)]

    def learn(self, candidates: Sequence[Candidate], results: Sequence[float | None]) -> None:
        """Take in the cycles of these; None for what failed, which teaches as well."""
        for candidate, cycles in zip(candidates, results, strict=True):
            assert isinstance(candidate.compiled, Compiled)
            self._cost_model.learn(candidate.compiled, cycles)
            point = self._points[candidate.compiled.digest]
            if cycles is not None:
                self._cycles[point] = cycles
            self._point_model.learn(point, math.inf if cycles is None else cycles)

    def _compile_more(self, count: int, best_cycles: float) -> None:
        points = self._next_points(count, best_cycles)
        traces = [self._space.trace(point) for point in points]
        futures = [self._compile(self._operator, trace) for trace in traces]
        for point, trace, future in zip(points, traces, futures, strict=True):
            compiled = future.result()
            if isinstance(compiled, Failure):
                self.rejected[compiled.kind] += 1
                self._point_model.learn(point, math.inf)
                if compiled.kind == DOES_NOT_FIT:
                    self._space.did_not_fit(point)
                continue
            twin = self._points.get(compiled.digest)
            if twin is None:
                self._points[compiled.digest] = point
                self._ready.append(_Ready(point, Candidate(trace, compiled), compiled))
            elif twin in self._cycles:
                self._point_model.learn(point, self._cycles[twin])

    def _next_points(self, count: int, best_cycles: float) -> list[Point]:
        """Give out the points to compile next."""
        best = sorted(self._cycles, key=self._cycles.__getitem__)[:_BEST_POINTS]
        near = [point for known in best for point in self._space.neighbours(known, best_cycles)]
        self._generator.shuffle(near)
        near = near[: round(_NEAR_SHARE * _PROPOSED * count)]
        anywhere = self._space.draw(_PROPOSED * count - len(near), best_cycles)
        # In turns: with little known, the first are taken.
        proposed: dict[Hashable, Point] = {}
        for pair in zip_longest(near, anywhere):
            for point in pair:
                if point is not None:
                    proposed.setdefault(self._space.program(point), point)
        chosen = self._point_model.best_of(list(proposed.values()), count)
        for point in chosen:
            self._space.take(point)
        return chosen


@contextmanager
def logged_to(path: Path) -> Iterator[None]:
    """MetaSchedule's messages, which would else be on the terminal, go to a file inside. Afterwards
    the loggers are as they were: TVM's own tuning fails where one has a handler of others."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(message)s"))
    loggers = [logging.getLogger(name) for name in ("tvm.s_tir.meta_schedule", __name__)]
    before = [(list(x.handlers), x.level, x.propagate) for x in loggers]
    for logger in loggers:
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
            logger.handlers[:] = handlers
            logger.setLevel(level)
            logger.propagate = propagate
        handler.close()
