"""A network with the schedules that its production gets: from the logs, else the defaults."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..device import DeviceConfig, find
from ..partition import explain
from .choose import Chooser
from .header import Header
from .log import TuningLog, log_folder, read_log
from .models import check_model, model_name
from .network import Network, asked_network
from .report import LayerResult, print_table

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Production:
    """What is asked for: a device, the logs in ``folder`` if there are such, who chooses."""

    config: DeviceConfig
    folder: Path
    log: TuningLog | None
    chooser: Chooser

    @property
    def runner(self) -> str:
        """What measured the logs, empty for the simulator."""
        return "" if self.log is None else self.log.header.runner

    @property
    def logs(self) -> str:
        """Which logs are taken, in words."""
        return f"none ({self.folder} does not exist)" if self.log is None else str(self.folder)


def production(options: argparse.Namespace, command: str) -> Production:
    """What `options` ask for: those of `add_network_options` and `add_production_options`.

    Quick, and raises what such options are refused with.
    """
    config = find(options.device)
    check_model(options.model)
    header = Header.of(config, model_name(options.model), command, runner=options.runner)
    folder = log_folder(options.logs, header)
    log = read_log(folder, header) if folder.exists() or options.require_tuned else None
    return Production(config, folder, log, Chooser(config, log, options.routes, options.pipeline))


def choose(
    wanted: Production, options: argparse.Namespace, console: Console
) -> tuple[Network, list[LayerResult]]:
    """The network, and what each of its layers costs by default and as chosen, which is printed;
    before it where its operations run and why, with `options.explain`.

    Raises as `load_network`, `Chooser.require_tuned` and `Chooser.results` do.
    """
    with console.status("loading, quantizing and partitioning the model") as status:
        network = asked_network(options, wanted.config, status.update)
    if options.explain:
        explain(network.partitioned, console)
    if options.require_tuned:
        wanted.chooser.require_tuned(network.layers, wanted.folder)
    with console.status("choosing schedules") as status:
        results = wanted.chooser.results(
            network.layers, lambda name: status.update(f"choosing and checking: {name}")
        )
    print_table(console, results, wanted.config, runner=wanted.runner)
    return network, results
