"""A network with the schedules that its production gets: from the logs, else the defaults."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..device import DeviceConfig, find
from ..partition import explain
from .asked_logs import AskedLogs, asked_logs
from .choose import Chooser
from .chosen_defaults import choose_defaults_together
from .header import Header
from .log import TuningLog
from .models import check_model, model_name
from .network import Network, asked_network
from .report import LayerResult

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Production:
    """What is asked for: a device, which logs, what they hold if anything, who chooses."""

    config: DeviceConfig
    asked: AskedLogs
    log: TuningLog | None
    chooser: Chooser

    @property
    def runner(self) -> str:
        """What measured the logs, empty for the simulator."""
        return "" if self.log is None else self.log.header.runner


def production(options: argparse.Namespace, command: str) -> Production:
    """What `options` ask for: those of `cli.options.add_network_options` and of
    `add_production_options`.

    Quick, and raises what such options are refused with.
    """
    config = find(options.device)
    check_model(options.model)
    header = Header.of(config, model_name(options.model), command, runner=options.runner)
    asked = asked_logs(header, options.logs, options.own_logs_only)
    log = asked.need() if options.require_tuned else asked.read()
    return Production(config, asked, log, Chooser(config, log, options.routes, options.pipeline))


def choose(
    wanted: Production, options: argparse.Namespace, console: Console
) -> tuple[Network, list[LayerResult]]:
    """The network, and what each of its layers costs by default and as chosen. Where its operations
    run and why is printed, with `options.explain`.

    Raises as `load_network`, `Chooser.require_tuned` and `Chooser.results` do.
    """
    with console.status("loading, quantizing and partitioning the model") as status:
        network = asked_network(options, wanted.config, status.update)
    if options.explain:
        explain(network.partitioned, console)
    if options.require_tuned:
        wanted.chooser.require_tuned(network.layers)
    with console.status("choosing schedules") as status:
        choose_defaults_together(
            [layer.operator for layer in network.layers],
            wanted.config,
            lambda done, total: status.update(f"choosing default schedules: {done} of {total}"),
        )
        results = wanted.chooser.results(
            network.layers, lambda name: status.update(f"choosing and checking: {name}")
        )
    return network, results
