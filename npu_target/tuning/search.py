"""MetaSchedule's search over one layer's schedules, with everything explicit: its defaults know
nothing of the device and raise."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from tvm.ir import IRModule
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.logging import get_logging_func
from tvm.target import Target

from ..config import NpuConfig
from ..schedule_rules import space_generator
from ..target import make_target
from ..topi import Operator
from .cost_model import LayerCostModel
from .layers import Layer
from .programs import CompiledPrograms
from .verify import VerifyProgram
from .workload import workload_module

BATCH = 16
# The tuner counts; the search only stops when its space is used up.
_UNLIMITED_TRIALS = 2**30
# Every generation replays and checks this many traces. Measuring takes little longer than that,
# so not many candidates should be looked at for each one measured.
POPULATION = 24
GENERATIONS = 1
# Seeds of MetaSchedule are within 1 and 2**31 - 1.
_SEEDS = 2**31 - 2


class NpuTuneContext(ms.TuneContext):
    """TVM's TuneContext without what its constructor does first: parsing the tensor intrinsics of
    all other devices, which takes many seconds."""

    def __init__(
        self,
        mod: IRModule,
        target: Target,
        space_generator: ms.SpaceGenerator,
        search_strategy: ms.SearchStrategy,
        task_name: str,
        num_threads: int,
        rand_state: int,
        logger: logging.Logger,
    ) -> None:
        self.__init_handle_by_constructor__(
            ms._ffi_api.TuneContext,
            mod,
            target,
            space_generator,
            search_strategy,
            task_name,
            num_threads,
            rand_state,
            get_logging_func(logger),
        )
        ms._ffi_api.TuneContextInitialize(self)


def make_context(
    operator: Operator,
    config: NpuConfig,
    space: str,
    seed: int,
    programs: CompiledPrograms,
    logger: logging.Logger,
) -> NpuTuneContext:
    """The search for a layer (`operator` in canonical form): `space` is template, rules or both.
    What it compiles is kept in `programs`."""
    seed = seed % _SEEDS + 1
    return NpuTuneContext(
        workload_module(operator, config),
        make_target(config),
        space_generator(operator, space, seed, [VerifyProgram(config, programs)]),
        ms.search_strategy.EvolutionarySearch(
            population_size=POPULATION,
            init_measured_ratio=0.3,
            init_min_unmeasured=1,
            genetic_num_iters=GENERATIONS,
            genetic_mutate_prob=0.85,
            eps_greedy=0.1,
        ),
        operator.name,
        os.cpu_count() or 1,
        seed,
        logger,
    )


class SearchFactory:
    """Begins searches over layers that share a cost model. What MetaSchedule has to say goes to
    `log_file`."""

    def __init__(
        self,
        config: NpuConfig,
        space: str,
        seed: int,
        programs: CompiledPrograms,
        log_file: Path,
    ) -> None:
        self._config = config
        self._space = space
        self._seed = seed
        self._programs = programs
        self._cost_model = LayerCostModel(seed, programs)
        self._logger = _file_logger(log_file)

    def __call__(self, layer: Layer, database: ms.database.Database) -> Search:
        context = make_context(
            layer.operator,
            self._config,
            self._space,
            self._seed,
            self._programs,
            self._logger,
        )
        return Search(context, database, self._cost_model)


class Search:
    """Candidates for one layer, one batch after another."""

    def __init__(
        self,
        context: ms.TuneContext,
        database: ms.database.Database,
        cost_model: ms.cost_model.CostModel,
    ) -> None:
        self.context = context
        self._cost_model = cost_model
        context.pre_tuning(
            max_trials=_UNLIMITED_TRIALS,
            num_trials_per_iter=BATCH,
            design_spaces=context.generate_design_space(),
            database=database,
            cost_model=cost_model,
        )

    def next_batch(self) -> list[ms.MeasureCandidate] | None:
        """New candidates, perhaps none this time; None when the space holds no more."""
        candidates = self.context.generate_measure_candidates()
        return None if candidates is None else list(candidates)

    def learn(
        self,
        candidates: Sequence[ms.MeasureCandidate],
        results: Sequence[ms.runner.RunnerResult],
    ) -> None:
        """Take in what measuring these gave; candidates that could not be measured teach too."""
        self.context.notify_runner_results(list(candidates), list(results))
        if candidates:
            self._cost_model.update(self.context, list(candidates), list(results))


def _file_logger(path: Path) -> logging.Logger:
    """MetaSchedule's messages, all of which would else be on the terminal."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(message)s"))
    for name in ("tvm.s_tir.meta_schedule", __name__):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
    return logging.getLogger(__name__)
