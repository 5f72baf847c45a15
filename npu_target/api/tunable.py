"""What can be tuned: a network, or one operator alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from rpc_server.address import Address
from rpc_server.credentials import read_credentials
from rpc_server.tracker_client import TrackerClient

from ..device import DEFAULT_DEVICE, DeviceConfig
from ..partition.partitioner import Lowering
from ..pipeline_options import DEFAULT as DEFAULT_PIPELINE
from ..pipeline_options import PipelineOptions
from ..topi import Operator
from ..topi.spelled import parse_operator
from ..tuning.asked_logs import AskedLogs, asked_logs
from ..tuning.choices import SEARCHES, SPACES
from ..tuning.choose import Chooser
from ..tuning.chosen_defaults import choose_defaults_together
from ..tuning.devices import check_runner, device_pool
from ..tuning.errors import TuningError
from ..tuning.header import Header
from ..tuning.kernels import best_kernels
from ..tuning.layers import Layer, layers_of
from ..tuning.log import RUN_LOG_FILE, check_can_make, check_log, open_log
from ..tuning.places import NO_LOGS
from ..tuning.report import LayerResult, make_console
from ..tuning.routes import BESIDE, ROUTES
from ..tuning.time_limits import default_timeout
from ..tuning.tune_layers import SearchOptions, tune_layers
from .arguments import (
    check_choice,
    check_seconds,
    check_seed,
    check_text,
    check_whole_number,
    device_of,
    pipeline_of,
)
from .layers import Layers

_COMMAND = "npu_target.api"  # in the place of a command line in the logs


@dataclass(frozen=True)
class Tunable:
    """Layers for a device, under a name: that of their logs.

    Attributes
    ----------
    name : of the model, or of the operator.
    config : the device.
    parts : the distinct layers, with how often each is there.
    """

    name: str
    config: DeviceConfig
    parts: Sequence[Layer]

    def tune(
        self,
        trials: int = SearchOptions.trials,
        *,
        logs: str | Path | None = None,
        own_logs_only: bool = False,
        resume: bool = False,
        seed: int = SearchOptions.seed,
        space: str = SearchOptions.space,
        search: str = SearchOptions.search,
        routes: str = SearchOptions.routes,
        pipeline: str | PipelineOptions = DEFAULT_PIPELINE,
        tracker: str | None = None,
        servers: int | None = None,
        runner: str = "",
        timeout_seconds: float | None = None,
        token_file: str | Path | None = None,
        tls_ca: str | Path | None = None,
        quiet: bool = False,
    ) -> Layers:
        """Search for faster schedules, measure them, write them into the logs.

        Parameters
        ----------
        trials : how many candidates to measure, over all layers; with `resume`, those that the logs
            hold count.
        logs : the folder of logs, in which it is `<device>/<model>/`; None is the user's.
        own_logs_only : whether the logs that come with the package are left out.
        seed, space, search, routes : see :class:`npu_target.tuning.tune_layers.SearchOptions`.
        pipeline : how to compile, as `--pipeline` has it: `O1`, `O2,-overlap`; logs are of one.
        tracker : `HOST:PORT`, to measure on its servers; None starts some here.
        servers : how many; None is one for each processor, or all of the tracker's.
        runner : the name of what measures instead of the simulator.
        timeout_seconds : of real time, after which a candidate counts as hung.
        token_file, tls_ca : the token that the tracker asks for, and certificates of which one has
            signed its own; None is the environment's NPU_TARGET_TOKEN, and no TLS.
        quiet : whether nothing is printed.

        Returns
        -------
        Layers
            with what is now known of each.

        Raises
        ------
        KeyboardInterrupt
            after Ctrl-C, when what was measured is written: `resume=True` goes on.
        ArgumentError
            for an argument that is none of what it may be, before anything is done.
        TuningError
            for logs that cannot be used, and what else the text says.
        """
        check_whole_number("trials", trials, 1)
        check_choice("space", space, SPACES)
        check_choice("search", search, SEARCHES)
        check_choice("routes", routes, ROUTES)
        check_seed(seed)
        if servers is not None:
            check_whole_number("servers", servers, 1)
        if timeout_seconds is not None:
            check_seconds("timeout_seconds", timeout_seconds)
        pipeline = pipeline_of(pipeline)
        header = Header.of(self.config, self.name, _COMMAND, pipeline, runner)
        asked = asked_logs(header, logs, own_logs_only)
        if asked.folder is None:
            raise TuningError(f"logs={NO_LOGS!r}: what is measured needs a folder")
        check_log(asked.folder, header)
        check_can_make(asked.folder)
        address = None if tracker is None else Address.parse(tracker)
        check_runner(runner, address)
        mine = read_credentials(_path(token_file), _path(tls_ca))
        if address is not None:
            with TrackerClient(address, credentials=mine) as client:
                client.require(self.config, runner)
        console = Console(quiet=True) if quiet else make_console()
        options = SearchOptions(trials, space, search, routes, seed, resume)
        timeout = timeout_seconds or default_timeout(runner)
        output = asked.folder / RUN_LOG_FILE
        with (
            open_log(asked.folder, header, asked.shipped) as log,
            device_pool(
                self.config, address, servers, output, console, runner, timeout, mine
            ) as pool,
        ):
            tuned = tune_layers(
                self.config, self.parts, log, pool, console, options, timeout, pipeline
            )
            if tuned.was_interrupted:
                raise KeyboardInterrupt(f"what was measured is in {asked.folder}")
            kernels = best_kernels(tuned.results, self.config, log, pipeline)
            return self._layers(tuned.results, kernels)

    def layers(
        self,
        *,
        logs: str | Path | None = None,
        own_logs_only: bool = False,
        require_tuned: bool = False,
        routes: str = BESIDE,
        pipeline: str | PipelineOptions = DEFAULT_PIPELINE,
        runner: str = "",
    ) -> Layers:
        """What each layer takes by its default schedule and by the one that a build would take.
        Each schedule's program is run once and compared with NumPy's answer.

        Parameters
        ----------
        logs, own_logs_only, runner : as `tune` has them; `logs="none"` is default schedules.
        pipeline : that compiles the schedules; of logs only those that were measured by the
            default one hold.
        require_tuned : whether a layer that the logs do not have is an error.
        routes : the device's routes that may be taken: `beside` schedules, `none`, or `only`.

        Raises
        ------
        LogError
            for logs that cannot be used, that do not hold true, or that lack what is required.
        ArgumentError
            for an argument that is none of what it may be.
        TuningError, CodegenError
            for a layer whose program is wrong or that does not fit the device.
        """
        chooser = self._chooser(logs, own_logs_only, require_tuned, routes, pipeline, runner)
        return self._layers(self._results(chooser), chooser.device_function)

    def _layers(self, results: Sequence[LayerResult], lower: Lowering) -> Layers:
        """With what a whole network takes, if this is one, whose kernels `lower` makes."""
        return Layers(self.config, results)

    def _results(self, chooser: Chooser) -> list[LayerResult]:
        """What each layer takes; raises as `Chooser.results` does."""
        choose_defaults_together([part.operator for part in self.parts], self.config)
        return chooser.results(self.parts)

    def _chooser(
        self,
        logs: str | Path | None,
        own_logs_only: bool,
        require_tuned: bool,
        routes: str,
        pipeline: str | PipelineOptions,
        runner: str,
    ) -> Chooser:
        check_choice("routes", routes, ROUTES)
        pipeline = pipeline_of(pipeline)
        header = Header.of(self.config, self.name, _COMMAND, runner=runner)
        asked: AskedLogs = asked_logs(header, logs, own_logs_only)
        log = asked.need() if require_tuned else asked.read()
        chooser = Chooser(self.config, log, routes, pipeline)
        if require_tuned:
            chooser.require_tuned(self.parts)
        return chooser


@dataclass(frozen=True)
class SingleOperator(Tunable):
    """One operator on a device.

    Attributes
    ----------
    operator : with all its attributes.
    """

    operator: Operator


def operator(text: str, device: str | Path | DeviceConfig = DEFAULT_DEVICE) -> SingleOperator:
    """One operator alone, to see how fast a device computes it and to tune it.

    Parameters
    ----------
    text : such as `conv2d(h=28, w=28, ci=128, co=128, k=3, pad=1)`, `matmul(m=128, k=768, n=3072)`;
        see :mod:`npu_target.topi.spelled`.
    device : a preset's name, a file that `DeviceConfig.save` wrote, or a config.

    Raises
    ------
    OperatorError
        for a text that says no operator, or one that the device cannot compute.
    ConfigError
        for a device that there is not.
    ArgumentError
        for what is no text, or no device.
    """
    config = device_of(device)
    check_text("text", text)
    found = parse_operator(text, config)
    found.prim_func(config)
    return SingleOperator(found.name, config, layers_of([found]), found)


def _path(text: str | Path | None) -> Path | None:
    return None if text is None else Path(text)
