"""Tunes the layers of a sweep's devices, one device after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from rpc_server.address import Address
from rpc_server.credentials import NONE, Credentials
from rpc_server.tracker_client import TrackerClient, device_key

from ..device import DeviceConfig
from ..tuning.asked_logs import asked_logs
from ..tuning.devices import device_pool
from ..tuning.errors import TuningError
from ..tuning.header import Header
from ..tuning.layers import Layer
from ..tuning.log import RUN_LOG_FILE, check_can_make, check_log, open_log
from ..tuning.places import NO_LOGS
from ..tuning.time_limits import default_timeout
from ..tuning.tune_layers import SearchOptions, tune_layers
from .results import DeviceResult, layer_cycles


@dataclass(frozen=True)
class SweepTuning:
    """How the layers of each device are tuned.

    model : the name under which logs are kept, in `<device>/<model>/` of `logs` (None: the user's
        folder).
    trials : of each device, those that its logs hold among them.
    tracker : whose servers measure, where it has some of the device; else `servers` of this
        machine (None: one a processor), or of the tracker's (None: all).
    timeout_seconds : of real time, after which a candidate counts as hung; None is the default.
    command : what is told of in the logs.
    credentials : what is shown to the tracker and its servers.
    """

    model: str
    trials: int
    logs: str | None = None
    tracker: Address | None = None
    servers: int | None = None
    seed: int = SearchOptions.seed
    timeout_seconds: float | None = None
    command: str = ""
    credentials: Credentials = NONE

    def check(self, configs: Sequence[DeviceConfig]) -> None:
        """Raise LogError, WriteError, TuningError or TrackerError for what can be refused before
        any work."""
        for config in configs:
            header, folder = self._logs_of(config)
            check_log(folder, header)
            check_can_make(folder)
        if self.tracker is not None:
            with TrackerClient(self.tracker, credentials=self.credentials) as client:
                client.ping()

    def tune(
        self,
        config: DeviceConfig,
        layers: Sequence[Layer],
        known: DeviceResult,
        console: Console,
    ) -> DeviceResult:
        """What is `known` of a device, with the cycles of its layers after so many trials. Logs
        that come with the package do not count: the devices of a sweep are to have equal chances.

        Raises KeyboardInterrupt after Ctrl-C, when what was measured is in the logs; and what
        `check` and `tune_layers` raise.
        """
        header, folder = self._logs_of(config)
        options = SearchOptions(self.trials, seed=self.seed, resume=True)
        timeout = self.timeout_seconds or default_timeout("")
        output = folder / RUN_LOG_FILE
        tracker = self._tracker_of(config)
        with (
            open_log(folder, header) as log,
            device_pool(
                config, tracker, self.servers, output, console, "", timeout, self.credentials
            ) as pool,
        ):
            tuned = tune_layers(config, layers, log, pool, console, options, timeout)
        if tuned.was_interrupted:
            raise KeyboardInterrupt
        return replace(known, layers=layer_cycles(tuned.results), trials=self.trials)

    def _logs_of(self, config: DeviceConfig) -> tuple[Header, Path]:
        header = Header.of(config, self.model, self.command)
        folder = asked_logs(header, self.logs, own_only=True).folder
        if folder is None:
            raise TuningError(f"--logs {NO_LOGS}: what is measured needs a folder")
        return header, folder

    def _tracker_of(self, config: DeviceConfig) -> Address | None:
        if self.tracker is None:
            return None
        with TrackerClient(self.tracker, credentials=self.credentials) as client:
            return self.tracker if device_key(config) in client.servers() else None
